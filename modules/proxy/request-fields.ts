import type { HttpRequest, Template } from '../../core/contract/http.js';
import { fieldLine } from '../../core/contract/message-text.js';
import type { ProxyScope } from './directives.js';
import { constant, type ProxyTarget } from './target.js';

/** Fields that say where a request ends: the engine makes them from the body that it really sends. */
const FRAMING = new Set(['content-length', 'transfer-encoding']);

/** Constant lines, or one whose value is known with the request. */
type Piece = string | { readonly name: string; readonly value: Template };

/** The lines of proxy_set_header; nginx's own Host comes first unless it is replaced. */
export function requestFields(
  scope: ProxyScope,
  target: ProxyTarget,
): { names: ReadonlySet<string>; text: (request: HttpRequest) => string } {
  const names = new Set(['host', ...scope.conf.proxy_set_header.map((line) => line.name.toLowerCase())]);
  return { names, text: textOf(piecesOf(scope, target, names)) };
}

/** Neighbouring constant lines are one piece. */
function piecesOf({ conf }: ProxyScope, target: ProxyTarget, names: ReadonlySet<string>): readonly Piece[] {
  const pieces: Piece[] = [];
  const add = (name: string, value: Template): void => {
    if (value.constant === undefined) pieces.push({ name, value });
    else if (value.constant !== '') {
      const line = `${name}: ${value.constant}\r\n`;
      const last = pieces.at(-1);
      if (typeof last === 'string') pieces[pieces.length - 1] = last + line;
      else pieces.push(line);
    }
  };
  if (!conf.proxy_set_header.some((line) => line.name.toLowerCase() === 'host'))
    add('Host', target.host.constant?.startsWith('unix:') === true ? constant('localhost') : target.host);
  for (const { name, value } of conf.proxy_set_header) if (!FRAMING.has(name.toLowerCase())) add(name, value);
  if (conf.proxy_http_version === '1.0' && !names.has('connection')) add('Connection', constant('close'));
  return pieces;
}

/** There may be thousands of locations: what is made for each keeps no more than it needs. */
function textOf(pieces: readonly Piece[]): (request: HttpRequest) => string {
  const [only] = pieces;
  return pieces.length === 1 && typeof only === 'string' ? textAlways(only) : textBy(pieces);
}

function textAlways(text: string): () => string {
  return () => text;
}

function textBy(pieces: readonly Piece[]): (request: HttpRequest) => string {
  return (request) => joined(pieces, request);
}

function joined(pieces: readonly Piece[], request: HttpRequest): string {
  let text = '';
  for (const piece of pieces) {
    if (typeof piece === 'string') text += piece;
    else {
      const value = piece.value.of(request);
      if (value !== '') text += fieldLine(piece.name, value);
    }
  }
  return text;
}
