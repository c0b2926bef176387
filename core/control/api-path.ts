/** Paths of the API: split before they are decoded, so that a name may hold a slash (`%2F`). */
import type { Directive } from '../module/tree.js';

/** The path of a prefix location, without a slash at the end. */
export function basePath({ args }: Directive): string {
  return (args.at(-1)?.text ?? '').replace(/\/$/, '');
}

/** The path of a request target, as it was sent. */
export function pathOf(requestUri: string): string {
  return requestUri.replace(/[?#].*$/s, '');
}

/**
 * The parts of a path below `base`, decoded. A slash at the end makes no difference.
 *
 * @param requestUri the target as the client sent it; `uri` the path that the server made of it, which chose the location. Bytes, latin1
 * @param base text, decoded: `/api`; empty for the root
 * @returns undefined where the path is not below `base` (`/apix`), or not UTF-8
 */
export function stepsBelow({ requestUri, uri }: { readonly requestUri: string; readonly uri: string }, base: string): string[] | undefined {
  const above = Buffer.from(base).toString('latin1').split('/');
  const steps = stepsOf(requestUri, uri);
  if (above.some((step, at) => steps[at] !== step)) return undefined;
  const below = steps.slice(above.length);
  if (below.at(-1) === '') below.pop();
  try {
    return below.map(text);
  } catch {
    return undefined;
  }
}

/** Where the server has changed more of the path than its encoding (`//`, `..`, rewrite), its own path counts. */
function stepsOf(requestUri: string, uri: string): string[] {
  const sent = pathOf(requestUri).split('/').map(decoded);
  return sent.join('/') === uri ? sent : uri.split('/');
}

function decoded(step: string): string {
  return step.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** @throws TypeError for bytes that are not UTF-8 */
function text(bytes: string): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(bytes, 'latin1'));
}
