import type { ApiClient, ReceivedResponse } from './api-client.js';
import { CommandFailure, EXIT, responseFailure } from './failure.js';

/** The body of a response; of a list that comes in pages all of them. @throws CommandFailure */
export async function wholeBody(client: ApiClient, first: ReceivedResponse): Promise<unknown> {
  const body = bodyOf(first);
  if (!Array.isArray(body)) return body;
  const list = [...(body as unknown[])];
  for (let next = nextPage(first); next !== undefined;) {
    const page = await client.send({ method: 'GET', path: next, isWhole: true });
    if (page.status !== 200) throw responseFailure(page.status, page.body);
    list.push(...(bodyOf(page) as unknown[]));
    next = nextPage(page);
  }
  return list;
}

function nextPage({ headers }: ReceivedResponse): string | undefined {
  return /<([^>]*)>; rel="next"/.exec(String(headers['link'] ?? ''))?.[1];
}

/** JSON is parsed. @throws CommandFailure */
export function bodyOf({ body, headers }: ReceivedResponse): unknown {
  if (body === '') return undefined;
  if (!/\bjson\b/.test(headers['content-type'] ?? '')) return body;
  try {
    return JSON.parse(body) as unknown;
  } catch {
    throw new CommandFailure(EXIT.unavailable, 'the response is not JSON', [body.slice(0, 200)]);
  }
}
