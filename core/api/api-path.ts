/** Paths of the API: split before they are decoded, so that a name may hold a slash (`%2F`). */
import type { Directive } from '../contract/tree.js';
import { normalizePath } from '../net/http1/uri.js';

/** The path of a prefix location, without a slash at the end. */
export function basePath({ args }: Directive): string {
  return (args.at(-1)?.text ?? '').replace(/\/$/, '');
}

/** The path of a request target, as it was sent. */
export function pathOf(requestUri: string): string {
  return requestUri.replace(/[?#].*$/s, '');
}

/**
 * The parts of a path below `base`, decoded. A slash at the end makes no difference, nor do several in front of the first part.
 *
 * @param requestUri the target as the client sent it; `uri` the path that the server made of it, which chose the location. Bytes, latin1
 * @param base text, decoded: `/api`; empty for the root
 * @param leadsHere whether a path, decoded, leads to the location that was chosen
 * @returns undefined where the path is not below `base` (`/apix`), not UTF-8, or means another one (`..`)
 */
export function stepsBelow(
  { requestUri, uri }: { readonly requestUri: string; readonly uri: string },
  base: string,
  leadsHere: (path: string) => boolean = () => true,
): string[] | undefined {
  const above = Buffer.from(base).toString('latin1').split('/');
  const parts = partsOf(pathOf(requestUri), uri, leadsHere);
  if (parts === undefined || above.some((step, at) => parts[at] !== step)) return undefined;
  const below = parts.slice(above.length);
  while (below.length > 1 && below[0] === '') below.shift();
  if (below.at(-1) === '') below.pop();
  return textOf(below);
}

/** The parts of a path, decoded. Undefined if one is not UTF-8, or means another path. @param path bytes, latin1 */
export function stepsOf(path: string): string[] | undefined {
  const [, ...parts] = path.replace(/\/$/, '').split('/').map(decoded);
  return parts.some(isDots) ? undefined : textOf(parts);
}

/**
 * Where the server has decoded, resolved and merged what was sent, the parts that were sent count: a slash or dots that were encoded are data.
 * Where these bring the request to another location than the parts do, whose access rules are others, there is no such path.
 */
function partsOf(sent: string, uri: string, leadsHere: (path: string) => boolean): string[] | undefined {
  const isRewritten = normalizePath(sent, true) !== uri && normalizePath(sent, false) !== uri;
  if (isRewritten) return uri.split('/');
  const parts = sent.split('/').map(decoded);
  if (parts.some(isDots)) return undefined;
  const path = parts.join('/');
  return path === uri || leadsHere(path) ? parts : undefined;
}

const isDots = (part: string): boolean => part === '.' || part === '..';

function decoded(part: string): string {
  return part.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Undefined for bytes that are not UTF-8. */
function textOf(parts: readonly string[]): string[] | undefined {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  try {
    return parts.map((bytes) => decoder.decode(Buffer.from(bytes, 'latin1')));
  } catch {
    return undefined;
  }
}
