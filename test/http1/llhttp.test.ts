import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import test from 'ava';
import * as fc from 'fast-check';
import { damaged, requests, responses } from './generators.js';
import { llhttpResponse, LlhttpServer, type Opinion } from './llhttp.js';
import { validRequests } from './valid-requests.js';
import { type Message, readRequests, readResponse, type Rewritten } from './wire.js';

/**
 * llhttp wants CRLF everywhere, and RFC 9112, 2.2 lets a recipient take LF alone. So it is given what a member would be given: the same
 * messages, with CRLF in their heads.
 */
const bytesOf = ({ text }: Rewritten): Buffer => Buffer.from(text, 'latin1');

/** Where we take a message that llhttp rejects with `error`, and why that is right. Everything else that only we take is a fault. */
interface Exception {
  readonly error: RegExp;
  applies(message: Message, input: string): boolean;
}

const exceptions: readonly Exception[] = [
  // llhttp knows a list of methods; RFC 9110, 9.1 lets anyone define others, and nginx takes them.
  { error: /^HPE_INVALID_METHOD$/, applies: ({ first }) => !METHODS.includes(first) },
  // Browsers do send bytes above 0x7f; nginx takes them, and they end nothing.
  { error: /^HPE_INVALID_URL$/, applies: ({ second }) => /[\x80-\xff]/.test(second) },
  // Extensions are dropped unread (RFC 9112, 7.1.1), so their syntax does not matter as long as the line ends where it ends for all.
  // White space before them is allowed, too, if a semicolon follows.
  // Node keeps the error to itself if the request asks for an upgrade.
  { error: /^(HPE_STRICT|HPE_INVALID_CHUNK_SIZE|)$/, applies: (_, input) => /^[0-9a-f]+(;(?!(a|a=b|a="b; c")\r\n)|[ \t]+;)/im.test(input) },
];

/** Trailer lines as llhttp's are written. */
function normalTrailers(message: Message): Message {
  const trailers = message.trailers.replaceAll(/^([^:\r\n]+):[ \t]*(.*?)[ \t]*\r$/gm, '$1: $2\r');
  return { ...message, trailers };
}

/** What is after it Node takes for bytes of the other protocol, whether somebody changes to that or not. */
function asksForUpgrade({ fields }: Message): boolean {
  const values = (name: string): string[] => fields.filter((_, at) => at % 2 === 1 && fields[at - 1]?.toLowerCase() === name);
  return values('upgrade').length > 0 && values('connection').some((value) => /(?:^|,)[ \t]*upgrade[ \t]*(?:,|$)/i.test(value));
}

/** Undefined if llhttp takes all that we take, in the same sense; else where it does not. */
function disagreement(ours: Message[], theirs: Opinion, input: string): string | undefined {
  for (const [i, message] of ours.entries()) {
    const other = theirs.messages[i];
    if (other === undefined) {
      if (ours.slice(0, i).some(asksForUpgrade)) return undefined;
      if (exceptions.some((exception) => exception.error.test(theirs.error) && exception.applies(message, input))) return undefined;
      return `llhttp refuses with ${theirs.error}: ${JSON.stringify(message)}`;
    }
    const [one, two] = [JSON.stringify(normalTrailers(message)), JSON.stringify(other)];
    if (one !== two) return `ours: ${one}\nllhttp: ${two}`;
  }
  return undefined;
}

test('the valid requests of the table are valid for llhttp', async (t) => {
  const llhttp = new LlhttpServer();
  for (const { name, bytes } of validRequests) {
    const rewritten = { text: '' };
    const { messages } = readRequests(Buffer.from(bytes, 'latin1'), rewritten);
    t.is(disagreement(messages, await llhttp.read(bytesOf(rewritten)), rewritten.text), undefined, name);
  }
  llhttp.close();
});

const RUNS = Number(process.env['LLHTTP_RUNS'] ?? 7000);
const BEHIND_UPGRADE = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: a, Upgrade\r\nUpgrade: b\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n';

test('requests that we take, llhttp takes in the same sense', async (t) => {
  const llhttp = new LlhttpServer();
  let taken = 0;
  let withBareLf = 0;
  await fc.assert(
    fc.asyncProperty(damaged(requests), async (text) => {
      const rewritten = { text: '' };
      const { messages } = readRequests(Buffer.from(text, 'latin1'), rewritten);
      taken += messages.length;
      if (rewritten.text !== text) withBareLf += messages.length;
      assert.equal(disagreement(messages, await llhttp.read(bytesOf(rewritten)), rewritten.text), undefined);
    }),
    { numRuns: RUNS, includeErrorInReport: true, examples: [[BEHIND_UPGRADE]] },
  );
  llhttp.close();
  t.true(taken > RUNS / 2);
  t.true(withBareLf > RUNS / 100);
});

test('responses that we take, llhttp takes in the same sense', async (t) => {
  let taken = 0;
  let withBareLf = 0;
  await fc.assert(
    fc.asyncProperty(damaged(responses), fc.constantFrom('GET', 'GET', 'HEAD'), async (text, method) => {
      const rewritten = { text: '' };
      const { messages } = readResponse(Buffer.from(text, 'latin1'), method, rewritten);
      taken += messages.length;
      if (rewritten.text !== text) withBareLf += messages.length;
      assert.equal(disagreement(messages, await llhttpResponse(bytesOf(rewritten), method), rewritten.text), undefined);
    }),
    { numRuns: RUNS, includeErrorInReport: true },
  );
  t.true(taken > RUNS / 2);
  t.true(withBareLf > RUNS / 100);
});
