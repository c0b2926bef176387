import { open, rm } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { ApiClient, SentRequest } from './api-client.js';
import { CommandFailure, EXIT, responseFailure } from './failure.js';

/**
 * Stores the body of a response, piece by piece, in a file that its owner alone may read.
 * @returns a line about it @throws CommandFailure if the file exists or cannot be written, and if the call fails: then there is no file
 */
export async function storeResponse(client: ApiClient, request: SentRequest, path: string): Promise<string> {
  const file = await open(path, 'wx', 0o600).catch((error: Error) => {
    throw new CommandFailure(EXIT.usage, `cannot write ${path}: ${error.message}`);
  });
  let isWhole = false;
  try {
    const { status, body } = await client.open(request);
    if (status >= 300) throw responseFailure(status, await text(body));
    let bytes = 0;
    for await (const piece of body as AsyncIterable<Buffer>) {
      await file.writeFile(piece);
      bytes += piece.length;
    }
    isWhole = true;
    return `${path}  ${bytes} bytes`;
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(EXIT.unavailable, `cannot store ${path}: ${(error as Error).message}`);
  } finally {
    await file.close();
    if (!isWhole) await rm(path, { force: true });
  }
}
