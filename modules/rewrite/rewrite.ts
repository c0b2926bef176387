import { argType } from '../../core/contract/arg-type.js';
import type { HttpRequest, Template } from '../../core/contract/http.js';
import { byteText, targetText } from '../../core/contract/message-text.js';
import type { Log } from '../../core/contract/log.js';
import { ArgError, type ArgContext, type ArgType } from '../../core/contract/spec.js';
import { BREAK, CHANGED, LAST, type Step } from './script.js';

const PERCENT = 0x25;
const QUESTION_MARK = 0x3f;
const DEL = 0x7f;

/** Constant text and variables, or the number of a capture. */
type Piece = Template | number;

/** Replacement of a path. */
export interface UriReplacement {
  /** Of a redirect: the whole URL. */
  readonly uri: readonly Piece[];
  /** Part after the first question mark; undefined without one. */
  readonly args: readonly Piece[] | undefined;
  /** The arguments of the request are appended: there is no question mark at the end. */
  readonly keepsArgs: boolean;
  /** It begins with a scheme. */
  readonly isUrl: boolean;
}

export interface RewriteLine {
  readonly regex: { readonly source: string; readonly pattern: RegExp };
  readonly replacement: UriReplacement;
  readonly flag: 'last' | 'break' | 'redirect' | 'permanent' | undefined;
}

export function replacement(): ArgType<UriReplacement> {
  return argType({
    kind: 'template',
    form: 'replacement',
    parse(text, context) {
      const isUrl = /^(?:https?:\/\/|\$scheme)/.test(text);
      const keepsArgs = !text.endsWith('?');
      const [uri = '', ...rest] = (keepsArgs ? text : text.slice(0, -1)).split('?');
      return { uri: pieces(uri, context), args: rest.length > 0 ? pieces(rest.join('?'), context) : undefined, keepsArgs, isUrl };
    },
  });
}

export function flag(): ArgType<NonNullable<RewriteLine['flag']>> {
  return argType({
    kind: 'choice',
    form: 'last | break | redirect | permanent',
    parse(text) {
      if (text === 'last' || text === 'break' || text === 'redirect' || text === 'permanent') return text;
      throw new ArgError(`invalid parameter "${text}"`, 'one of: last, break, redirect, permanent');
    },
  });
}

function pieces(text: string, context: ArgContext): Piece[] {
  // Every second one is the digit of a capture.
  return text.split(/\$([1-9])/).flatMap((part, at) => (at % 2 === 1 ? Number(part) : part === '' ? [] : context.template(part)));
}

/** @param log set with `rewrite_log on` */
export function rewriteStep(
  { regex, replacement: { uri, args, keepsArgs, isUrl }, flag: end }: RewriteLine,
  errors: Log,
  log: Log | undefined,
): Step {
  const status = end === 'permanent' ? 301 : isUrl || end === 'redirect' ? 302 : 0;
  const { source, pattern } = regex;
  const outcome = end === 'break' ? BREAK : end === 'last' ? LAST : CHANGED;
  return (request) => {
    const captures = pattern.exec(request.uri);
    log?.write('notice', `"${source}" ${captures === null ? 'does not match' : 'matches'} "${request.uri}"`, request);
    if (captures === null) return -10;
    request.captures = captures;
    const isQuoted = hasEscapes(request.requestUri);
    const kept = keepsArgs ? request.args : '';
    if (status > 0) {
      const url = unescaped(join(uri, request, captures, isQuoted));
      const query = joinArgs(args === undefined ? undefined : join(args, request, captures, isQuoted), kept);
      const location = targetText(query === '' ? url : `${url}?${query}`);
      log?.write('notice', `rewritten redirect: "${location}"`, request);
      request.response.set('Location', location);
      return status;
    }
    const path = byteText(join(uri, request, captures, false));
    const query = joinArgs(args === undefined ? undefined : join(args, request, captures, isQuoted), kept);
    log?.write('notice', `rewritten data: "${path}", args: "${query}"`, request);
    if (path === '') {
      errors.write('error', 'the rewritten URI has a zero length', request);
      return 500;
    }
    request.rewrite(path, query);
    return outcome;
  };
}

function joinArgs(own: string | undefined, kept: string): string {
  if (own === undefined) return kept;
  return kept === '' ? own : `${own}&${kept}`;
}

function join(parts: readonly Piece[], request: HttpRequest, captures: RegExpExecArray, escapes: boolean): string {
  let text = '';
  for (const part of parts) {
    if (typeof part !== 'number') text += part.of(request);
    else text += escapes ? escaped(captures[part] ?? '') : (captures[part] ?? '');
  }
  return text;
}

/** True if the path of the target had characters that are decoded in `$uri`. */
function hasEscapes(target: string): boolean {
  const end = target.indexOf('?');
  return /[%+]/.test(end < 0 ? target : target.slice(0, end));
}

/** Characters of a capture that nginx escapes in arguments and redirects (NGX_ESCAPE_ARGS). */
function escaped(bytes: string): string {
  return bytes.replace(
    /[\0-\x20"#%&+;<>?\\^`{|}\x7f-\xff]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

/** Takes back what a URL needs no escapes for, up to its arguments: they begin with the first question mark, escaped or not (as nginx). */
function unescaped(url: string): string {
  let inArgs = false;
  return url.replace(/\?|%([2-7][0-9A-Fa-f])/g, (found, digits: string | undefined) => {
    const code = digits === undefined ? QUESTION_MARK : Number.parseInt(digits, 16);
    if (inArgs || code <= PERCENT || code === DEL) return found;
    inArgs = code === QUESTION_MARK;
    return String.fromCharCode(code);
  });
}
