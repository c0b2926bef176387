/** Responses that nobody may take for one: members that send them have failed, for requests and for health checks alike. By a name. */
const head = (...fields: readonly string[]): string => `HTTP/1.1 200 OK\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;

export const MALFORMED_RESPONSES: Readonly<Record<string, string>> = {
  text: 'NONSENSE\r\n\r\n',
  'HTTP/0.9': '<html></html>',
  version: 'HTTP/2.0 200 OK\r\n\r\n',
  'long status': 'HTTP/1.1 2000 OK\r\n\r\n',
  'no status': 'HTTP/1.1 OK\r\n\r\n',
  'zero in the reason': 'HTTP/1.1 200 O\0K\r\n\r\n',
  'line end in the reason': 'HTTP/1.1 200 O\rK\r\n\r\n',
  'folded line': head('X-A: b', ' c'),
  'zero in a value': head('X-A: b\0c'),
  'line end in a value': head('X-A: b\rc'),
  'no colon': head('X-A'),
  'no name': head(': b'),
  'space in a name': head('X A: b'),
  'space behind a name': head('X-A : b'),
  'two lengths': `${head('Content-Length: 4', 'Content-Length: 5')}evil`,
  'two lengths in a line': `${head('Content-Length: 4, 5')}evil`,
  'negative length': `${head('Content-Length: -4')}evil`,
  'length that is none': `${head('Content-Length: 0x4')}evil`,
  'other coding': `${head('Transfer-Encoding: gzip')}evil`,
  'chunked twice': `${head('Transfer-Encoding: chunked, chunked')}4\r\nevil\r\n0\r\n\r\n`,
  'coding around chunks': `${head('Transfer-Encoding: chunked, gzip')}4\r\nevil\r\n0\r\n\r\n`,
  'length and chunks': `${head('Transfer-Encoding: chunked', 'Content-Length: 4')}4\r\nevil\r\n0\r\n\r\n`,
  'chunks in HTTP/1.0': `${head('Transfer-Encoding: chunked').replace('1.1', '1.0')}4\r\nevil\r\n0\r\n\r\n`,
  'head without end': `HTTP/1.1 200 OK\r\nX-A: ${'x'.repeat(40_000)}\r\n\r\n`,
  'behind an interim response': 'HTTP/1.1 100 Continue\r\n\r\nNONSENSE\r\n\r\n',
};

/** Bodies in chunks that are broken off where they are malformed. */
export const MALFORMED_CHUNKS: Readonly<Record<string, string>> = {
  size: 'zz\r\nevil',
  'white space behind a size': '4 \r\nevil\r\n0\r\n\r\n',
  'text behind a size': '4evil\r\nevil\r\n0\r\n\r\n',
  'no line end behind a chunk': '4\r\nevil0\r\n\r\n',
  'bare line ends': '4\nevil\n0\n\n',
};
