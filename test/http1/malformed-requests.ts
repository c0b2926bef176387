/** Requests that must be rejected, as raw bytes. Used against the codec and, over a socket, against the running server. */

export interface MalformedRequest {
  readonly name: string;
  /** What the client sends, one byte a character. It needs no more bytes and no close to be rejected. */
  readonly bytes: string;
  /** The status of the response; the connection is closed after it. */
  readonly status: number;
  /**
   * Where the fault is. `head`: no handler may run. `path`: the head is well-formed and its path is not. `body`: head and path are
   * well-formed, so a handler may have seen them, but the request must not be completed at a backend.
   */
  readonly in: 'head' | 'path' | 'body';
}

/** Field lines of an otherwise good request. */
function fields(name: string, lines: string, status = 400): MalformedRequest {
  return { name, bytes: `GET / HTTP/1.1\r\nHost: a.example\r\n${lines}\r\n\r\n`, status, in: 'head' };
}

function head(name: string, bytes: string, status = 400): MalformedRequest {
  return { name, bytes, status, in: 'head' };
}

/** A request line, followed by a good Host. */
function line(name: string, requestLine: string, status = 400): MalformedRequest {
  return head(name, `${requestLine}\r\nHost: a.example\r\n\r\n`, status);
}

function path(name: string, target: string): MalformedRequest {
  return { name, bytes: `GET ${target} HTTP/1.1\r\nHost: a.example\r\n\r\n`, status: 400, in: 'path' };
}

function host(name: string, value: string): MalformedRequest {
  return head(name, `GET / HTTP/1.1\r\nHost: ${value}\r\n\r\n`);
}

/** A request with a body, so that a backend that frames it in another way would see a second request. */
function framing(name: string, lines: string, status = 400): MalformedRequest {
  const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: a.example\r\n\r\n';
  return head(name, `POST / HTTP/1.1\r\nHost: a.example\r\n${lines}\r\n\r\n0\r\n\r\n${smuggled}`, status);
}

function chunks(name: string, body: string): MalformedRequest {
  return { name, bytes: `POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n${body}`, status: 400, in: 'body' };
}

function trailer(name: string, lines: string): MalformedRequest {
  return chunks(name, `5\r\nhello\r\n0\r\n${lines}\r\n\r\n`);
}

const requestLines: readonly MalformedRequest[] = [
  line('no method', ' / HTTP/1.1'),
  line('method in lower case', 'get / HTTP/1.1'),
  line('method with a digit', 'G3T / HTTP/1.1'),
  line('method with a separator', 'GE:T / HTTP/1.1'),
  line('method with NUL', 'GE\0T / HTTP/1.1'),
  line('method with a byte above 0x7f', 'G\xcbT / HTTP/1.1'),
  line('space before the method', ' GET / HTTP/1.1'),
  line('tab before the method', '\tGET / HTTP/1.1'),
  line('no target', 'GET HTTP/1.1'),
  line('nothing but a method', 'GET'),
  line('two spaces before the target', 'GET  / HTTP/1.1'),
  line('two spaces before the version', 'GET /  HTTP/1.1'),
  line('tabs for spaces', 'GET\t/\tHTTP/1.1'),
  line('tab before the version', 'GET /\tHTTP/1.1'),
  line('space behind the version', 'GET / HTTP/1.1 '),
  line('tab behind the version', 'GET / HTTP/1.1\t'),
  line('no version', 'GET /'),
  line('empty version', 'GET / '),
  line('version in lower case', 'GET / http/1.1'),
  line('version of another protocol', 'GET / HTCPCP/1.0'),
  line('version without a slash', 'GET / HTTP1.1'),
  line('version without a minor number', 'GET / HTTP/1'),
  line('version with an empty minor number', 'GET / HTTP/1.'),
  line('version with a comma', 'GET / HTTP/1,1'),
  line('version with a sign', 'GET / HTTP/+1.1'),
  line('version with a major number of two digits', 'GET / HTTP/11.1'),
  line('version with a minor number of two digits', 'GET / HTTP/1.10'),
  line('version with text behind it', 'GET / HTTP/1.1x'),
  line('HTTP/0.9 by name', 'GET / HTTP/0.9', 505),
  line('HTTP/1.2', 'GET / HTTP/1.2', 505),
  line('HTTP/2.0', 'GET / HTTP/2.0', 505),
  line('HTTP/3.0', 'GET / HTTP/3.0', 505),
  head('HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505),
  head('HTTP/0.9', 'GET /\r\n\r\n'),
  line('space in the target', 'GET /a b HTTP/1.1'),
  line('second request in the target', 'GET / HTTP/1.1 GET /b HTTP/1.1'),
  line('control character in the target', 'GET /a\x01b HTTP/1.1'),
  line('DEL in the target', 'GET /a\x7fb HTTP/1.1'),
  line('NUL in the target', 'GET /a\0b HTTP/1.1'),
  line('CR in the target', 'GET /a\rb HTTP/1.1'),
  line('LF in the target', 'GET /a\nb HTTP/1.1'),
  line('LF behind the target', 'GET /a\n HTTP/1.1'),
  line('LF before the version', 'GET / \nHTTP/1.1'),
  line('target without a slash', 'GET index.html HTTP/1.1'),
  line('target that is a query', 'GET ?a=b HTTP/1.1'),
  line('target with a backslash', 'GET \\index HTTP/1.1'),
  line('asterisk', 'OPTIONS * HTTP/1.1'),
  line('asterisk for another method than OPTIONS', 'GET * HTTP/1.1'),
  line('asterisk with more behind it', 'OPTIONS */a HTTP/1.1'),
  line('CONNECT with a path', 'CONNECT / HTTP/1.1'),
  line('CONNECT with an absolute target', 'CONNECT http://a.example/ HTTP/1.1'),
  line('CONNECT without a port', 'CONNECT a.example HTTP/1.1'),
  line('CONNECT with an empty port', 'CONNECT a.example: HTTP/1.1'),
  line('CONNECT with a port that is no number', 'CONNECT a.example:http HTTP/1.1'),
  line('CONNECT with a length', 'CONNECT a.example:80 HTTP/1.1\r\nContent-Length: 5'),
  line('CONNECT with chunks', 'CONNECT a.example:80 HTTP/1.1\r\nTransfer-Encoding: chunked'),
  line('authority for another method than CONNECT', 'GET a.example:80 HTTP/1.1'),
  line('absolute target without a host', 'GET http:///a HTTP/1.1'),
  line('absolute target with one slash', 'GET http:/a.example/ HTTP/1.1'),
  line('absolute target of another scheme', 'GET gopher://a.example/ HTTP/1.1'),
  line('absolute target with user information', 'GET http://user:secret@a.example/ HTTP/1.1'),
  line('absolute target with a bad port', 'GET http://a.example:8x/ HTTP/1.1'),
  line('absolute target with a fragment behind its host', 'GET http://a.example#.b.example/ HTTP/1.1'),
  line('absolute target with an open bracket', 'GET http://[::1/ HTTP/1.1'),
  line('absolute target with a backslash in its host', 'GET http://a.example\\b.example/ HTTP/1.1'),
  head('too many empty lines first', `${'\r\n'.repeat(5)}GET / HTTP/1.1\r\nHost: a.example\r\n\r\n`),
  head('too many empty lines of LF first', `${'\n'.repeat(5)}GET / HTTP/1.1\r\nHost: a.example\r\n\r\n`),
  head('request line ended by LF CR', 'GET / HTTP/1.1\n\rHost: a.example\r\n\r\n'),
  head('request line ended by CR', 'GET / HTTP/1.1\rHost: a.example\r\n\r\n'),
  head('request line ended by CR CR LF', 'GET / HTTP/1.1\r\r\nHost: a.example\r\n\r\n'),
  head('TLS handshake', '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03'),
  head('zeros', '\0'.repeat(16)),
  head('SSH banner', 'SSH-2.0-OpenSSH_9.9\r\n\r\n'),
  line('request line of 9,000 bytes', `GET /${'a'.repeat(9000)} HTTP/1.1`, 414),
  head('request line of 9,000 bytes that has not ended', `GET /${'a'.repeat(9000)}`, 414),
];

const paths: readonly MalformedRequest[] = [
  path('path that climbs above the root', '/../etc/passwd'),
  path('path that climbs above the root later', '/a/../../b'),
  path('path that climbs above the root, encoded', '/%2e%2e%2fetc'),
  path('encoded NUL in the path', '/a%00.html'),
  path('encoding without digits', '/a%'),
  path('encoding with one digit', '/a%4'),
  path('encoding with other letters', '/a%4g'),
];

const fieldLines: readonly MalformedRequest[] = [
  fields('space before the colon', 'X-A : b'),
  fields('tab before the colon', 'X-A\t: b'),
  head('space before the first field', 'GET / HTTP/1.1\r\n Host: a.example\r\n\r\n'),
  head('tab before the first field', 'GET / HTTP/1.1\r\n\tHost: a.example\r\n\r\n'),
  fields('folded value, space', 'X-A: b\r\n c'),
  fields('folded value, tab', 'X-A: b\r\n\tc'),
  fields('folded value, empty line', 'X-A: b\r\n \r\nX-B: c'),
  fields('no colon', 'X-A'),
  fields('no name', ': b'),
  fields('space in the name', 'X A: b'),
  fields('NUL in the name', 'X\0A: b'),
  fields('NUL before the name', '\0X-A: b'),
  fields('DEL in the name', 'X\x7fA: b'),
  fields('second request line among the fields', 'GET /b HTTP/1.1'),
  fields('NUL in a value', 'X-A: b\0c'),
  fields('control character in a value', 'X-A: b\x01c'),
  fields('escape in a value', 'X-A: \x1b[2J'),
  fields('DEL in a value', 'X-A: b\x7f'),
  fields('CR in a value', 'X-A: b\rX-B: c'),
  fields('CR before the value', 'X-A:\rb'),
  fields('CR CR LF behind a value', 'X-A: b\r'),
  fields('CR in a value behind a line of LF', 'X-A: b\nX-B: c\rX-C: d'),
  fields('folded value behind a line of LF', 'X-A: b\n c'),
  fields('NUL behind a line of LF', 'X-A: b\nX-B: \0'),
  fields('LF in a name', 'X-A\n: b'),
  head('empty line of CR', 'GET / HTTP/1.1\r\nHost: a.example\r\n\rGET /b HTTP/1.1\r\nHost: a.example\r\n\r\n'),
  fields('line of 9,000 bytes', `X-A: ${'b'.repeat(9000)}`),
  head('line of 9,000 bytes that has not ended', `GET / HTTP/1.1\r\nHost: a.example\r\nX-A: ${'b'.repeat(9000)}`),
  fields('1,100 lines', 'X-A: b\r\n'.repeat(1100).trimEnd()),
  fields('40,000 bytes', `X-A: ${'b'.repeat(8000)}\r\n`.repeat(5).trimEnd()),
  fields('Authorization twice', 'Authorization: a\r\nauthorization: b'),
  fields('Content-Range twice', 'Content-Range: a\r\nContent-Range: a'),
  fields('Expect twice', 'Expect: a\r\nX-A: b\r\nExpect: a'),
  fields('If-Match twice', 'If-Match: a\r\nIf-Match: b'),
  fields('If-Modified-Since twice', 'If-Modified-Since: a\r\nIf-Modified-Since: b'),
  fields('If-None-Match twice', 'If-None-Match: a\r\nIf-None-Match: b'),
  fields('If-Range twice', 'If-Range: a\r\nIf-Range: b'),
  fields('If-Unmodified-Since twice', 'If-Unmodified-Since: a\r\nIf-Unmodified-Since: b'),
  fields('too many options in Connection', `Connection: ${'a, '.repeat(20)}b`),
];

const hosts: readonly MalformedRequest[] = [
  head('no Host', 'GET / HTTP/1.1\r\n\r\n'),
  head('no Host, but other fields', 'GET / HTTP/1.1\r\nX-Host: a.example\r\n\r\n'),
  head('no Host with an absolute target', 'GET http://a.example/ HTTP/1.1\r\n\r\n'),
  fields('two Hosts, the same', 'Host: a.example'),
  fields('two Hosts, different', 'Host: b.example'),
  fields('two Hosts, different case', 'hOST: b.example'),
  head('two Hosts in HTTP/1.0', 'GET / HTTP/1.0\r\nHost: a.example\r\nHost: b.example\r\n\r\n'),
  head('bad Host beside an absolute target', 'GET http://a.example/ HTTP/1.1\r\nHost: b example\r\n\r\n'),
  head('bad Host in HTTP/1.0', 'GET / HTTP/1.0\r\nHost: a/b\r\n\r\n'),
  host('Host is empty', ''),
  host('Host is only a port', ':80'),
  host('Host with a space', 'a.example b.example'),
  host('Host with a tab', 'a.example\tb.example'),
  host('Host that is a list', 'a.example, b.example'),
  host('Host with user information', 'user@a.example'),
  host('Host with a path', 'a.example/b'),
  host('Host with a backslash', 'a.example\\b'),
  host('Host with a query', 'a.example?b'),
  host('Host with a fragment', 'a.example#b'),
  host('Host with quotes', '"a.example"'),
  host('Host with angle brackets', '<a.example>'),
  host('Host that is a URL', 'http://a.example/'),
  host('Host with a port that is no number', 'a.example:8o80'),
  host('Host with a negative port', 'a.example:-80'),
  host('Host with a port of six digits', 'a.example:800000'),
  host('Host with two ports', 'a.example:80:80'),
  host('Host that is an IPv6 address without brackets', '::1'),
  host('Host with an open bracket', '[::1'),
  host('Host with empty brackets', '[]'),
  host('Host with text behind the bracket', '[::1]a'),
  host('Host with a name in brackets', '[a.example]'),
  host('Host with two dots in a row', 'a..example'),
  host('Host that is a dot', '.'),
  host('Host that is a dot with a port', '.:80'),
  host('Host with a port above 65535', 'a.example:98777'),
  host('Host with two ranges left out of an IPv6 address', '[ab..cd::1]'),
  host('Host with two gaps in an IPv6 address', '[1::2::3]'),
  host('Host that is an IPv6 address with a zone', '[fe80::1%25eth0]'),
  host('Host with IPvFuture without a version', '[v.a]'),
  host('Host with IPvFuture without an address', '[v1.]'),
  host('Host with IPvFuture and a slash', '[v1.a/b]'),
];

const lengths: readonly MalformedRequest[] = [
  framing('Content-Length: negative', 'Content-Length: -5'),
  framing('Content-Length: plus sign', 'Content-Length: +5'),
  framing('Content-Length: hexadecimal', 'Content-Length: 0x5'),
  framing('Content-Length: hexadecimal digits', 'Content-Length: 1f'),
  framing('Content-Length: decimal point', 'Content-Length: 5.0'),
  framing('Content-Length: exponent', 'Content-Length: 5e0'),
  framing('Content-Length: underscore', 'Content-Length: 1_0'),
  framing('Content-Length: empty', 'Content-Length:'),
  framing('Content-Length: text', 'Content-Length: five'),
  framing('Content-Length: two numbers', 'Content-Length: 5 5'),
  framing('Content-Length: list of equal numbers', 'Content-Length: 5, 5'),
  framing('Content-Length: list of different numbers', 'Content-Length: 5, 6'),
  framing('Content-Length: number and comma', 'Content-Length: 5,'),
  framing('Content-Length: quoted', 'Content-Length: "5"'),
  framing('Content-Length: parameter', 'Content-Length: 5;a=b'),
  framing('Content-Length: NUL behind it', 'Content-Length: 5\0'),
  framing('Content-Length: digits of another script', 'Content-Length: \xd9\xa5'),
  framing('Content-Length: no-break space', 'Content-Length: \xa05'),
  framing('Content-Length: 2^53', 'Content-Length: 9007199254740992'),
  framing('Content-Length: 2^64 + 5', 'Content-Length: 18446744073709551621'),
  framing('Content-Length: 40 digits', `Content-Length: ${'9'.repeat(40)}`),
  framing('Content-Length twice, the same', 'Content-Length: 5\r\nContent-Length: 5'),
  framing('Content-Length twice, different', 'Content-Length: 5\r\nContent-Length: 6'),
  framing('Content-Length twice, different case', 'Content-Length: 5\r\ncontent-LENGTH: 0'),
  framing('Content-Length, the second one folded', 'Content-Length: 5\r\nX-A: b\r\n Content-Length: 6'),
  framing('Content-Length with a space before the colon', 'Content-Length : 5'),
];

const codings: readonly MalformedRequest[] = [
  framing('CL.TE', 'Content-Length: 5\r\nTransfer-Encoding: chunked'),
  framing('TE.CL', 'Transfer-Encoding: chunked\r\nContent-Length: 5'),
  framing('Content-Length of 0 with chunked', 'Content-Length: 0\r\nTransfer-Encoding: chunked'),
  framing('CL.TE in odd case', 'Content-Length: 5\r\ntRANSFER-eNCODING: CHUNKED'),
  framing('Transfer-Encoding: another coding', 'Transfer-Encoding: gzip', 501),
  framing('Transfer-Encoding: identity', 'Transfer-Encoding: identity', 501),
  framing('Transfer-Encoding: chunked not last', 'Transfer-Encoding: chunked, identity', 501),
  framing('Transfer-Encoding: two codings', 'Transfer-Encoding: gzip, chunked', 501),
  framing('Transfer-Encoding: chunked twice in a list', 'Transfer-Encoding: chunked, chunked', 501),
  framing('Transfer-Encoding: other text before', 'Transfer-Encoding: xchunked', 501),
  framing('Transfer-Encoding: other text behind', 'Transfer-Encoding: chunkedx', 501),
  framing('Transfer-Encoding: two words', 'Transfer-Encoding: chunked chunked', 501),
  framing('Transfer-Encoding: parameter', 'Transfer-Encoding: chunked;q=1', 501),
  framing('Transfer-Encoding: quoted', 'Transfer-Encoding: "chunked"', 501),
  framing('Transfer-Encoding: comma behind', 'Transfer-Encoding: chunked,', 501),
  framing('Transfer-Encoding: comma before', 'Transfer-Encoding: , chunked', 501),
  framing('Transfer-Encoding: empty', 'Transfer-Encoding:', 501),
  framing('Transfer-Encoding: no-break space', 'Transfer-Encoding: chunked\xa0', 501),
  framing('Transfer-Encoding: tab behind', 'Transfer-Encoding: chunked\t'),
  framing('Transfer-Encoding: space and tab behind', 'Transfer-Encoding: chunked \t '),
  framing('Transfer-Encoding: vertical tab', 'Transfer-Encoding: \x0bchunked'),
  framing('Transfer-Encoding: form feed', 'Transfer-Encoding: chunked\x0c'),
  framing('Transfer-Encoding: NUL', 'Transfer-Encoding: chunked\0'),
  framing('Transfer-Encoding twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked'),
  framing('Transfer-Encoding twice, then identity', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity'),
  framing('Transfer-Encoding twice, first identity', 'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked'),
  framing('Transfer-Encoding with a space before the colon', 'Content-Length: 5\r\nTransfer-Encoding : chunked'),
  framing('Transfer-Encoding with a tab before the colon', 'Content-Length: 5\r\nTransfer-Encoding\t: chunked'),
  framing('Transfer-Encoding behind a space', 'Content-Length: 5\r\n Transfer-Encoding: chunked'),
  framing('Transfer-Encoding with a folded value', 'Content-Length: 5\r\nTransfer-Encoding:\r\n chunked', 501),
  framing('Transfer-Encoding with a folded colon', 'Content-Length: 5\r\nTransfer-Encoding\r\n : chunked'),
  framing('Transfer-Encoding behind LF', 'Content-Length: 5\r\nX-A: b\nTransfer-Encoding: chunked'),
  framing('Transfer-Encoding behind CR', 'Content-Length: 5\r\nX-A: b\rTransfer-Encoding: chunked'),
  framing('Transfer-Encoding with NUL before it', 'Content-Length: 5\r\n\0Transfer-Encoding: chunked'),
  head('Transfer-Encoding in HTTP/1.0', 'POST / HTTP/1.0\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
];

const bodies: readonly MalformedRequest[] = [
  chunks('chunk size: no digit', '\r\n\r\n'),
  chunks('chunk size: other letter', 'g\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk size: other letter behind', '5g\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk size: minus sign', '-5\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk size: plus sign', '+5\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk size: prefix', '0x5\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk size: underscore', '0_5\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk size: space before', ' 5\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk size: space behind', '5 \r\nhello\r\n0\r\n\r\n'),
  chunks('chunk size: tab behind', '5\t\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk size: NUL behind', '5\0\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk size: 40 digits', `${'0'.repeat(39)}5\r\nhello\r\n0\r\n\r\n`),
  chunks('chunk size: 2^64 + 5', '10000000000000005\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk size: more than can be counted', 'fffffffffffffff\r\nhello'),
  chunks('chunk size ended by LF', '5\nhello\r\n0\r\n\r\n'),
  chunks('chunk size ended by CR', '5\rhello\r\n0\r\n\r\n'),
  chunks('chunk size ended by CR CR LF', '5\r\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk longer than its size', '4\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk shorter than its size', '6\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk without a line end', '5\r\nhello0\r\n\r\n'),
  chunks('chunk ended by LF', '5\r\nhello\n0\r\n\r\n'),
  chunks('chunk ended by CR', '5\r\nhello\r0\r\n\r\n'),
  chunks('second chunk size is bad', '5\r\nhello\r\nz\r\n\r\n'),
  chunks('chunk extension ended by LF', '5;a\nhello\r\n0\r\n\r\n'),
  chunks('chunk extension with CR', '5;a\rb\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk extension with NUL', '5;a\0\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk size: 2,000 spaces before the extension', `5${' '.repeat(2000)};a\r\nhello\r\n0\r\n\r\n`),
  chunks('chunk extension without a semicolon', '5 a=b\r\nhello\r\n0\r\n\r\n'),
  chunks('chunk extension of 2,000 bytes', `5;${'a'.repeat(2000)}\r\nhello\r\n0\r\n\r\n`),
  chunks('30 chunk extensions of 1,000 bytes', `1;${'a'.repeat(1000)}\r\nh\r\n`.repeat(30)),
  chunks('last chunk ended by LF', '5\r\nhello\r\n0\n\n'),
  chunks('body ended by LF', '5\r\nhello\r\n0\r\n\n'),
  chunks('body ended by CR', '5\r\nhello\r\n0\r\n\rGET /b HTTP/1.1\r\n'),
  trailer('trailer with Content-Length', 'Content-Length: 5'),
  trailer('trailer with Transfer-Encoding', 'Transfer-Encoding: chunked'),
  trailer('trailer with Host', 'Host: b.example'),
  trailer('trailer with Connection', 'Connection: close'),
  trailer('trailer without a colon', 'GET /b HTTP/1.1'),
  trailer('trailer with a space before the colon', 'X-A : b'),
  trailer('trailer with a folded value', 'X-A: b\r\n c'),
  trailer('trailer with NUL', 'X-A: b\0'),
  trailer('trailer ended by LF', 'X-A: b\nX-B: c'),
  trailer('trailer ended by CR', 'X-A: b\rX-B: c'),
  trailer('trailer of 9,000 bytes', `X-A: ${'b'.repeat(9000)}`),
  trailer('trailers of 40,000 bytes', `X-A: ${'b'.repeat(1000)}\r\n`.repeat(40).trimEnd()),
];

export const malformedRequests: readonly MalformedRequest[] = [
  ...requestLines,
  ...paths,
  ...fieldLines,
  ...hosts,
  ...lengths,
  ...codings,
  ...bodies,
];
