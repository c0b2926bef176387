/** A check in the JSON of the API, and as a directive. */
import { ApiError } from '../../core/contract/control.js';
import { DirectiveCodec } from '../../core/contract/directive-codec.js';
import { ArgError, type DirectiveJson } from '../../core/contract/spec.js';
import type { Directive } from '../../core/contract/tree.js';
import { directiveText } from '../../core/contract/words.js';
import { CHECK_TYPES, type CheckType } from './check-settings.js';
import { assertHost, assertUri } from './compile-checks.js';
import { checkLine, exchange, httpRequest, INLINE, ssl } from './directives.js';
import { parseBody, parseExpectation, parseHeader, parseStatus } from './rules.js';

export interface HttpJson {
  readonly uri?: string;
  readonly host?: string;
  readonly status?: string;
  readonly header?: readonly string[];
  readonly body?: string;
}
export interface StreamJson {
  readonly send?: string;
  readonly expect?: string;
}
type TimingJson = DirectiveJson<typeof checkLine>;
type SslJson = DirectiveJson<typeof ssl>;

/** A check as a caller sends it: of the right types already. */
export interface CheckJson extends Partial<TimingJson> {
  readonly http?: HttpJson;
  readonly stream?: StreamJson;
  readonly ssl?: Partial<SslJson>;
}

const timings = Object.fromEntries(
  Object.entries(CHECK_TYPES).map(([type, name]) => [type, new DirectiveCodec(name, checkLine)]),
) as Record<CheckType, DirectiveCodec<typeof checkLine>>;
const ssls = new DirectiveCodec('ssl', ssl);
const sends = new DirectiveCodec('send', exchange.send);

/** A check as GET shows it: all settings. */
export function shownCheck(type: CheckType, line: Directive): CheckJson {
  const [tls] = line.block?.named('ssl') ?? [];
  const timing = timings[type];
  return {
    ...timing.show(timing.read(line)),
    ...(type === 'http' ? { http: shownHttp(line) } : { stream: shownStream(line) }),
    ...(tls && { ssl: ssls.show(ssls.read(tls)) }),
  };
}

/** The directive that says what a caller sent. @param before the check that it replaces @throws ApiError 400 `InvalidField` */
export function checkText(type: CheckType, json: CheckJson, before: Directive | undefined): string {
  const { http, stream, ssl: tls, ...settings } = json;
  if (type === 'http' && stream !== undefined) throw invalid('/stream', 'is for checks of the types stcp and sudp');
  if (type !== 'http' && http !== undefined) throw invalid('/http', 'is for checks of the type http');
  if (type === 'sudp' && tls !== undefined) throw invalid('/ssl', 'is for checks of the types http and stcp');
  const timing = timings[type];
  const lines = [...httpLines(http), ...streamLines(stream), ...(tls === undefined ? [] : [tlsLine(type, tls, before)])];
  return `${timing.print(timing.create(settings)).slice(0, -1)} { ${lines.join(' ')} }`;
}

/** Errors in texts of a body whose form a schema cannot describe. */
export function textErrors(body: unknown): readonly ApiError[] {
  const { http = {}, stream = {} } = recordOf(body) as { readonly http?: unknown; readonly stream?: unknown };
  const { uri, host, status, header, body: pattern } = recordOf(http);
  const headers: unknown[] = Array.isArray(header) ? header : [];
  return [
    ...errorsOf('/http/uri', uri, assertUri),
    ...errorsOf('/http/host', host, assertHost),
    ...errorsOf('/http/status', status, parseStatus),
    ...headers.flatMap((rule, at) => errorsOf(`/http/header/${at}`, rule, parseHeader)),
    ...errorsOf('/http/body', pattern, parseBody),
    ...errorsOf('/stream/expect', recordOf(stream)['expect'], parseExpectation),
  ];
}

function shownHttp(line: Directive): HttpJson {
  const uri = textOf(line, 'uri') ?? httpRequest.uri.default;
  const [host, status, body] = ['host', 'status', 'body'].map((name) => textOf(line, name));
  const header = Array.from(line.block?.named('header') ?? [], joined);
  return { uri, ...(host && { host }), ...(status && { status }), ...(header.length > 0 && { header }), ...(body && { body }) };
}

function shownStream(line: Directive): StreamJson {
  const [send, expect] = ['send', 'expect'].map((name) => textOf(line, name));
  return { ...(send !== undefined && { send }), ...(expect !== undefined && { expect }) };
}

function httpLines({ uri, host, status, header = [], body }: HttpJson = {}): string[] {
  return [
    ...(uri === undefined ? [] : [directiveText('uri', [uri])]),
    ...(host === undefined ? [] : [directiveText('host', [host])]),
    ...(status === undefined ? [] : [directiveText('status', status.trim().split(/\s+/))]),
    ...header.map((rule) => directiveText('header', headerWords(rule))),
    ...(body === undefined ? [] : [directiveText('body', twoWords(body))]),
  ];
}

function streamLines({ send, expect }: StreamJson = {}): string[] {
  const escaped = (text: string): string => sends.merge({ data: '' }, { data: text }).data;
  return [
    ...(send === undefined ? [] : [sends.print({ data: escaped(send) })]),
    ...(expect === undefined ? [] : [directiveText('expect', /^~\*?\s/.test(expect) ? twoWords(escaped(expect)) : [escaped(expect)])]),
  ];
}

/** A caller names no files: one stays that the check has already. */
function tlsLine(type: CheckType, json: Partial<SslJson>, before: Directive | undefined): string {
  const { trusted_certificate: trusted = '' } = json;
  const known = before && shownCheck(type, before).ssl?.trusted_certificate;
  if (trusted !== '' && trusted !== known && !trusted.startsWith(INLINE))
    throw invalid('/ssl/trusted_certificate', 'must be certificates in PEM that begin with "data:"');
  return ssls.print(ssls.create(json));
}

/** `! Name`, `Name = a value of several words`. */
function headerWords(rule: string): string[] {
  const [, name, operator, value] = /^(\S+)\s+(!?(?:=|~\*?))\s+(.*)$/s.exec(rule.trim()) ?? [];
  return name === undefined || operator === undefined || value === undefined ? rule.trim().split(/\s+/) : [name, operator, value];
}

/** `~ a regular expression with blanks`. */
function twoWords(rule: string): string[] {
  const [, operator = '', source = ''] = /^(!?\s*~\*?)\s+(.*)$/s.exec(rule.trim()) ?? [];
  return [operator.replaceAll(/\s/g, ''), source];
}

const joined = ({ args }: Directive): string => args.map(({ text }) => text).join(' ');

function textOf({ block }: Directive, name: string): string | undefined {
  const [line] = block?.named(name) ?? [];
  return line && joined(line);
}

function errorsOf(pointer: string, text: unknown, parse: (text: string) => unknown): ApiError[] {
  if (typeof text !== 'string') return [];
  try {
    parse(text);
    return [];
  } catch (error) {
    if (!(error instanceof ArgError)) throw error;
    return [invalid(pointer, error.hint === undefined ? error.message : `${error.message}: ${error.hint}`)];
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

export function invalid(pointer: string, message: string): ApiError {
  return new ApiError(400, 'InvalidField', `${pointer}: ${message}`, [{ pointer, message }]);
}
