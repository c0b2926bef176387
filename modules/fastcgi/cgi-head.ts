/** The head of a response of CGI (RFC 3875, 6): fields, one of which may be the status. */

/** A head. `fields` are lines with their CRLF, without the ones that concern the status and the connection. */
export interface CgiHead {
  readonly status: number;
  /** Empty: the field Status has none. */
  readonly reason: string;
  readonly fields: string;
  /** Content-Length; undefined: there is none. */
  readonly length: number | undefined;
}

const FIELD = /^([!#$%&'*+.^`|~\w-]+)[ \t]*:[ \t]*(.*?)[ \t]*$/;
/** Fields of a connection, which is not that of the client. */
const DROPPED = new Set(['status', 'connection', 'keep-alive', 'transfer-encoding']);

/** Where the head ends in a text: the position after the empty line, or 0. Lines end with LF, or CR and LF. */
export function headEnd(text: string): number {
  const match = /(?:^|\n)\r?\n/.exec(text);
  return match === null ? 0 : match.index + match[0].length;
}

/** @returns the head, or the reason why it is malformed */
export function parseCgiHead(text: string): CgiHead | string {
  let status: number | undefined;
  let reason = '';
  let hasLocation = false;
  let length: number | undefined;
  let fields = '';
  for (const line of text.split(/\r?\n/)) {
    if (line === '') continue;
    const [, name, value = ''] = FIELD.exec(line) ?? [];
    if (name === undefined) return `upstream sent invalid header: "${line.slice(0, 100)}"`;
    const lower = name.toLowerCase();
    if (lower === 'status') {
      const [, digits, text = ''] = /^([1-9]\d\d)(?: +(.*))?$/.exec(value) ?? [];
      if (digits === undefined || Number(digits) < 200) return `upstream sent invalid status "${value.slice(0, 100)}"`;
      if (status === undefined) reason = text;
      status ??= Number(digits);
    } else if (lower === 'content-length') {
      if (!/^\d{1,15}$/.test(value) || (length !== undefined && length !== Number(value)))
        return `upstream sent invalid "Content-Length" header: "${value.slice(0, 100)}"`;
      length = Number(value);
    } else if (lower === 'location') hasLocation = true;
    if (!DROPPED.has(lower)) fields += `${lower === 'content-type' ? 'Content-Type' : name}: ${value}\r\n`;
  }
  return { status: status ?? (hasLocation ? 302 : 200), reason, fields, length };
}
