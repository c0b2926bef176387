/** Requests that must be taken, as raw bytes, and what they mean. */

export interface ValidRequest {
  readonly name: string;
  /** One byte a character. */
  readonly bytes: string;
  readonly method: string;
  readonly target: string;
  readonly minor: 0 | 1;
  /** Names and values in turn. */
  readonly fields: readonly string[];
  /** Host with port; undefined: there is none. */
  readonly host: string | undefined;
  /** Decoded path and arguments. */
  readonly path: string;
  readonly args: string;
  readonly body: string;
  readonly trailers: string;
  readonly keepAlive: boolean;
  readonly upgrade: boolean;
  readonly expectContinue: boolean;
}

const plain: Omit<ValidRequest, 'name' | 'bytes'> = {
  method: 'GET',
  target: '/',
  minor: 1,
  fields: ['Host', 'a.example'],
  host: 'a.example',
  path: '/',
  args: '',
  body: '',
  trailers: '',
  keepAlive: true,
  upgrade: false,
  expectContinue: false,
};

/** A request and what in it differs from the plainest one. */
function request(name: string, bytes: string, meaning: Partial<ValidRequest>): ValidRequest {
  return { ...plain, ...meaning, name, bytes };
}

/** With a Host and further field lines. */
function fields(name: string, lines: readonly string[], meaning: Partial<ValidRequest>): ValidRequest {
  return request(name, `GET / HTTP/1.1\r\nHost: a.example\r\n${lines.join('\r\n')}\r\n\r\n`, meaning);
}

function target(name: string, text: string, meaning: Partial<ValidRequest>): ValidRequest {
  return request(name, `GET ${text} HTTP/1.1\r\nHost: a.example\r\n\r\n`, { target: text, ...meaning });
}

function host(name: string, value: string): ValidRequest {
  return request(name, `GET / HTTP/1.1\r\nHost: ${value}\r\n\r\n`, { fields: ['Host', value], host: value });
}

function chunked(name: string, bytes: string, meaning: Partial<ValidRequest>): ValidRequest {
  return request(name, `POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n${bytes}`, {
    method: 'POST',
    fields: ['Host', 'a.example', 'Transfer-Encoding', 'chunked'],
    ...meaning,
  });
}

export const validRequests: readonly ValidRequest[] = [
  request('the plainest', 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n', {}),
  request('HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n', { minor: 0, fields: [], host: undefined, keepAlive: false }),
  request('HTTP/1.0 with Host', 'GET / HTTP/1.0\r\nHost: a.example\r\n\r\n', { minor: 0, keepAlive: false }),
  request('HTTP/1.0 that keeps the connection', 'GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n', {
    minor: 0,
    fields: ['Connection', 'Keep-Alive'],
    host: undefined,
  }),
  request('one empty line first', '\r\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n', {}),
  request('four empty lines first', `${'\r\n'.repeat(4)}GET / HTTP/1.1\r\nHost: a.example\r\n\r\n`, {}),
  request('an empty line of LF first', '\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n', {}),
  request('empty lines of either kind first', '\n\r\n\n\r\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n', {}),
  request('all lines ended by LF', 'GET / HTTP/1.1\nHost: a.example\n\n', {}),
  request('request line ended by LF', 'GET / HTTP/1.1\nHost: a.example\r\n\r\n', {}),
  request('field line ended by LF', 'GET / HTTP/1.1\r\nHost: a.example\n\r\n', {}),
  request('empty line of LF', 'GET / HTTP/1.1\r\nHost: a.example\r\n\n', {}),
  request('lines ended by LF before a body with an empty line', 'PUT / HTTP/1.1\nHost: a.example\nContent-Length: 4\n\n\r\n\r\n', {
    method: 'PUT',
    fields: ['Host', 'a.example', 'Content-Length', '4'],
    body: '\r\n\r\n',
  }),
  request(
    'lines ended by LF before a body with 9,000 bytes a line',
    `PUT / HTTP/1.1\nHost: a.example\nContent-Length: 9000\n\n${'a'.repeat(9000)}`,
    {
      method: 'PUT',
      fields: ['Host', 'a.example', 'Content-Length', '9000'],
      body: 'a'.repeat(9000),
    },
  ),
  request(
    'lines ended by LF before a body longer than a head may be',
    `PUT / HTTP/1.1\nHost: a.example\nContent-Length: 40004\n\n${'a'.repeat(40000)}\r\n\r\n`,
    {
      method: 'PUT',
      fields: ['Host', 'a.example', 'Content-Length', '40004'],
      body: `${'a'.repeat(40000)}\r\n\r\n`,
    },
  ),
  request('an uncommon method', 'MKCOL /a HTTP/1.1\r\nHost: a.example\r\n\r\n', { method: 'MKCOL', target: '/a', path: '/a' }),
  request('a method with a hyphen', 'M-SEARCH / HTTP/1.1\r\nHost: a.example\r\n\r\n', { method: 'M-SEARCH' }),
  request('CONNECT', 'CONNECT b.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n', {
    method: 'CONNECT',
    target: 'b.example:443',
    host: 'b.example:443',
  }),
  target('arguments', '/a?b=c&d=/../e', { path: '/a', args: 'b=c&d=/../e' }),
  target('question marks in the arguments', '/a?b?c', { path: '/a', args: 'b?c' }),
  target('no arguments behind the question mark', '/a?', { path: '/a' }),
  target('a fragment', '/a#b?c', { path: '/a' }),
  target('arguments and a fragment', '/a?b#c', { path: '/a', args: 'b' }),
  target('encoded characters', '/a%20b%2Fc%3Fd%23%25', { path: '/a b/c?d#%' }),
  target('an encoded byte above 0x7f', '/%e4%BD', { path: '/\xe4\xbd' }),
  target('a raw byte above 0x7f', '/\xe4\xbd', { path: '/\xe4\xbd' }),
  target('what is encoded twice is decoded once', '/%252e%252e/a', { path: '/%2e%2e/a' }),
  target('segments that are dots', '/a/./b/../c/.', { path: '/a/c/' }),
  target('slashes in a row', '//a///b', { path: '/a/b' }),
  target('names that begin with dots', '/.a/..b/...', { path: '/.a/..b/...' }),
  target('characters that should be encoded', '/"<>\\^`{|}', { path: '/"<>\\^`{|}' }),
  request('absolute target', 'GET http://b.example/a?c HTTP/1.1\r\nHost: b.example\r\n\r\n', {
    target: 'http://b.example/a?c',
    fields: ['Host', 'b.example'],
    host: 'b.example',
    path: '/a',
    args: 'c',
  }),
  target('absolute target wins over Host', 'http://b.example:8080/a', { host: 'b.example:8080', path: '/a' }),
  target('absolute target in capitals', 'HTTP://B.EXAMPLE/', { host: 'B.EXAMPLE' }),
  target('absolute target without a path', 'https://b.example', { host: 'b.example' }),
  target('absolute target with arguments and no path', 'http://b.example?c', { host: 'b.example', args: 'c' }),
  host('Host with a port', 'a.example:8080'),
  host('Host with an empty port', 'a.example:'),
  host('Host in capitals with a dot at its end', 'A.Example.'),
  host('Host that is an address', '127.0.0.1:80'),
  host('Host that is an IPv6 address', '[2001:db8::1]:8080'),
  host('Host with an underscore', 'a_b.example'),
  host('Host with the highest port', 'a.example:65535'),
  host('Host that is an IPv6 address with an IPv4 one in it', '[::ffff:192.0.2.1]'),
  host('Host of a form to come (IPvFuture)', '[v1F.a-b:c]:80'),
  fields('white space around a value', ['X-A: \t b c \t '], { fields: ['Host', 'a.example', 'X-A', 'b c'] }),
  fields('no white space before a value', ['X-A:b'], { fields: ['Host', 'a.example', 'X-A', 'b'] }),
  fields('an empty value', ['X-A:', 'X-B:  '], { fields: ['Host', 'a.example', 'X-A', '', 'X-B', ''] }),
  fields('every character of a name', ["!#$%&'*+-.^_`|~09azAZ: b"], { fields: ['Host', 'a.example', "!#$%&'*+-.^_`|~09azAZ", 'b'] }),
  fields('bytes above 0x7f and tabs in a value', ['X-A: \xe9\tb'], { fields: ['Host', 'a.example', 'X-A', '\xe9\tb'] }),
  fields('LF between fields', ['X-A: b\nX-B: c'], { fields: ['Host', 'a.example', 'X-A', 'b', 'X-B', 'c'] }),
  fields('LF behind white space', ['X-A: b \t\nX-B:\nX-C: c'], { fields: ['Host', 'a.example', 'X-A', 'b', 'X-B', '', 'X-C', 'c'] }),
  fields('colons in a value', ['X-A: b:c: d'], { fields: ['Host', 'a.example', 'X-A', 'b:c: d'] }),
  fields('a field twice', ['X-A: b', 'x-a: c'], { fields: ['Host', 'a.example', 'X-A', 'b', 'x-a', 'c'] }),
  fields(
    '60 fields',
    Array.from({ length: 60 }, () => 'A: b'),
    {
      fields: ['Host', 'a.example', ...Array.from({ length: 60 }, () => ['A', 'b']).flat()],
    },
  ),
  fields('a value of 8,000 bytes', [`X-A: ${'b'.repeat(8000)}`], { fields: ['Host', 'a.example', 'X-A', 'b'.repeat(8000)] }),
  fields('Connection: close', ['Connection: close'], { fields: ['Host', 'a.example', 'Connection', 'close'], keepAlive: false }),
  fields('close among other options', ['Connection: a, ,CLOSE ,b'], {
    fields: ['Host', 'a.example', 'Connection', 'a, ,CLOSE ,b'],
    keepAlive: false,
  }),
  fields('close wins over keep-alive', ['Connection: close', 'Connection: keep-alive'], {
    fields: ['Host', 'a.example', 'Connection', 'close', 'Connection', 'keep-alive'],
    keepAlive: false,
  }),
  fields('an upgrade', ['Connection: keep-alive, Upgrade', 'Upgrade: websocket'], {
    fields: ['Host', 'a.example', 'Connection', 'keep-alive, Upgrade', 'Upgrade', 'websocket'],
    upgrade: true,
  }),
  fields('Upgrade that Connection does not name', ['Upgrade: websocket'], { fields: ['Host', 'a.example', 'Upgrade', 'websocket'] }),
  fields('Connection: upgrade without Upgrade', ['Connection: upgrade'], { fields: ['Host', 'a.example', 'Connection', 'upgrade'] }),
  request('Expect', 'PUT / HTTP/1.1\r\nHost: a.example\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\nhi', {
    method: 'PUT',
    fields: ['Host', 'a.example', 'Expect', '100-Continue', 'Content-Length', '2'],
    body: 'hi',
    expectContinue: true,
  }),
  request('Expect in HTTP/1.0 is ignored', 'GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n', {
    minor: 0,
    fields: ['Expect', '100-continue'],
    host: undefined,
    keepAlive: false,
  }),
  request('a body', 'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nhello', {
    method: 'POST',
    fields: ['Host', 'a.example', 'Content-Length', '5'],
    body: 'hello',
  }),
  request('a length with leading zeros', 'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0005\r\n\r\nhello', {
    method: 'POST',
    fields: ['Host', 'a.example', 'Content-Length', '0005'],
    body: 'hello',
  }),
  request('a body of no bytes', 'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n', {
    method: 'POST',
    fields: ['Host', 'a.example', 'Content-Length', '0'],
  }),
  chunked('chunks', '5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n', { body: 'hello!' }),
  chunked('no chunk but the last one', '0\r\n\r\n', {}),
  chunked('sizes in both cases and with leading zeros', `00a\r\n0123456789\r\nA\r\n0123456789\r\n000\r\n\r\n`, {
    body: '01234567890123456789',
  }),
  chunked('extensions', '5;a=b;c\r\nhello\r\n0;d="e; f"\r\n\r\n', { body: 'hello' }),
  chunked('white space before an extension', '5 ;a=b\r\nhello\r\n0\t ; c\r\n\r\n', { body: 'hello' }),
  chunked('a size with twenty zeros', `${'0'.repeat(20)}5\r\nhello\r\n${'0'.repeat(21)}\r\n\r\n`, { body: 'hello' }),
  chunked('line ends in the data', '4\r\n\r\n\r\n\r\n0\r\n\r\n', { body: '\r\n\r\n' }),
  chunked('trailers', '0\r\nX-A: b\r\nX-B:\r\n\r\n', { trailers: 'X-A: b\r\nX-B:\r\n' }),
  request('chunked in odd case', 'POST / HTTP/1.1\r\nHost: a.example\r\ntransfer-ENCODING: Chunked \r\n\r\n0\r\n\r\n', {
    method: 'POST',
    fields: ['Host', 'a.example', 'transfer-ENCODING', 'Chunked'],
  }),
];
