import { open } from 'node:fs/promises';
import { constants, type Stats } from 'node:fs';
import type { ServerList } from './followed-list.js';
import { ListError } from './list-error.js';

/** A list in a file. */
export class FileList implements ServerList {
  readonly title: string;
  #version = '';

  /** @param path absolute */
  constructor(private readonly path: string) {
    this.title = `"${path}"`;
  }

  async read(most: number, signal: AbortSignal): Promise<string | undefined> {
    // A pipe must not make it wait.
    const file = await open(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw new ListError('it is not a regular file');
      const version = versionOf(stats);
      if (version === this.#version) return undefined;
      if (stats.size > most) throw new ListError(`it has more than ${most} bytes`);
      const text = await readAtMost(file, stats.size, signal);
      this.#version = version;
      return text;
    } finally {
      await file.close();
    }
  }

  forget(): void {
    this.#version = '';
  }
}

/** A file that grows while it is read is cut off, which is not valid JSON then. */
async function readAtMost(file: Awaited<ReturnType<typeof open>>, most: number, signal: AbortSignal): Promise<string> {
  const bytes = Buffer.alloc(most);
  let length = 0;
  while (length < most && !signal.aborted) {
    const { bytesRead } = await file.read(bytes, length, most - length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  signal.throwIfAborted();
  return bytes.toString('utf8', 0, length);
}

const versionOf = ({ ino, size, mtimeMs, ctimeMs }: Stats): string => `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
