import test from 'ava';
import { Type } from 'typebox';
import { ControlRouter } from '../../core/api/router.js';
import { ApiError, dryRunReply, route, type Call, type Reply } from '../../core/contract/control.js';
import { callRouter, errorOf } from './api-client.js';
import { MemoryLog } from './memory-log.js';

const Thing = Type.Object({
  name: Type.String({ minLength: 1 }),
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: 9 })),
  on: Type.Optional(Type.Boolean()),
  kind: Type.Optional(Type.Enum(['a', 'b'])),
  parts: Type.Optional(Type.Array(Type.Object({ size: Type.Number() }))),
});
const list = {
  summary: 'All things',
  query: Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 1 })) }),
  responses: { 200: Type.Array(Thing) },
} as const;
const add = { summary: 'Adds one', body: Thing, dryRun: true, responses: { 201: Thing }, errors: ['EntryExists'] } as const;
const name = { summary: 'Its name', query: Type.Object({ name: Type.String() }), responses: { 200: Type.String() } } as const;
const remove = {
  summary: 'Removes one',
  responses: { 204: null },
  errors: [{ code: 'AcmeThingNotFound', status: 404, meaning: 'There is no such thing.' }],
} as const;

class Things {
  readonly calls: Call[] = [];

  @route('GET', '/things', list)
  list({ query }: Call<typeof list>): Reply {
    return { status: 200, body: [{ name: 'x', count: query.limit ?? 1, on: true }], version: '5' };
  }

  @route('POST', '/things', add)
  add({ body, ...call }: Call<typeof add>): Reply {
    this.calls.push({ ...call, body: undefined });
    return call.dryRun ? dryRunReply([`+ ${body.name}`]) : { status: 201, body, headers: { Location: `${call.base}/v1/shop/things/1` } };
  }

  @route('GET', '/names', name)
  name({ query }: Call<typeof name>): Reply {
    return { status: 200, body: query.name };
  }

  @route('DELETE', '/things/:id', remove)
  remove({ params }: Call): Reply {
    if (params['id'] === '9') throw new ApiError(404, 'KeyNotFound', 'no such thing');
    if (params['id'] === '8') throw new Error('at /etc/secret');
    return { status: 204 };
  }

  @route('GET', '/things/special', remove)
  special(): Reply {
    return { status: 200, body: 'plain', type: 'text/plain' };
  }

  @route('GET', '/things/:id', remove)
  one({ params }: Call): Reply {
    return { status: 200, body: params };
  }
}

/** Replies that a module in JavaScript may return, and what the log says of them. */
const BAD_REPLIES: readonly (readonly [name: string, reply: unknown, reason: RegExp])[] = [
  ['nothing', undefined, /must return \{ status, body \}, not undefined/],
  ['a text', 'x', /must return \{ status, body \}, not 'x'/],
  ['no status', { body: 1 }, /with a status from 200 to 599, not undefined/],
  ['an impossible status', { status: 9999 }, /with a status from 200 to 599, not 9999/],
  ['a field that is no field', { status: 200, headers: { 'X Y': 'a' } }, /returned a header field that cannot be sent: 'X Y' is no/],
  ['a field that is no text', { status: 200, headers: { 'X-Y': 5 } }, /returned the header field "X-Y" with 5, it must be a string/],
  ['a BigInt', { status: 200, body: { a: 10n } }, /returned a body that JSON cannot carry: Do not know how to serialize a BigInt/],
];

for (const [name, reply, reason] of BAD_REPLIES) {
  test(`a route that returns what is no reply is a 500, and the log names it: ${name}`, async (t) => {
    const { router, log, things } = shop();
    things.list = () => reply as Reply;
    t.like(errorOf(await callRouter(router, 'GET', '/v1/shop/things')), { status: 500, code: 'InternalError' });
    t.regex(log.lines.join('\n'), /route GET \/v1\/shop\/things of module "acme_shop" /);
    t.regex(log.lines.join('\n'), reason);
  });
}

for (const [status, code] of [
  [700, 'Gone'],
  [404, 'not found'],
] as const) {
  test(`an ApiError is a status and a name: ${status} ${code}`, (t) => {
    t.throws(() => new ApiError(status, code, 'text'), { instanceOf: TypeError });
  });
}

test('a write without a dry run says so, and nothing is carried out', async (t) => {
  const { router } = shop();
  const tried = errorOf(await callRouter(router, 'DELETE', '/v1/shop/things/1?dry_run=1'));
  t.like(tried, { status: 400, code: 'InvalidField', details: [{ pointer: '?dry_run', message: 'not supported by this call' }] });
  t.is((await callRouter(router, 'DELETE', '/v1/shop/things/1?dry_run=0')).status, 204);
  const { paths } = JSON.parse((await callRouter(router, 'GET', '/v1/openapi.json')).body) as {
    paths: Record<string, Record<string, unknown>>;
  };
  t.regex(JSON.stringify(paths['/v1/shop/things']?.['post']), /"dry_run"/);
  t.notRegex(JSON.stringify(paths['/v1/shop/things/{id}']?.['delete']), /dry_run|DryRun|dry run/);
});

test('the document has the codes that a module makes up, with their status', async (t) => {
  const { router } = shop();
  const { paths, components } = JSON.parse((await callRouter(router, 'GET', '/v1/openapi.json')).body) as {
    paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>;
    components: { schemas: Record<string, unknown> };
  };
  t.is(paths['/v1/shop/things/{id}']?.['delete']?.responses['404']?.description, 'AcmeThingNotFound: There is no such thing.');
  t.regex(JSON.stringify(components.schemas['Error']), /"AcmeThingNotFound"/);
});

function pointersOf(details: readonly { pointer?: string }[]): string[] {
  return details.map(({ pointer }) => pointer ?? '').sort((a, b) => (a < b ? -1 : 1));
}

function load(router: ControlRouter, instance: object): void {
  router.prepare([{ instance, declaration: { manifest: { name: 'acme_shop', key: 'shop' } } }]).commit();
}

function shop() {
  const log = new MemoryLog();
  const router = new ControlRouter(log, '1.2.3');
  const things = new Things();
  load(router, things);
  return { router, things, log };
}

test('the response to a call is JSON, with its version as ETag, and is not to be kept', async (t) => {
  const { router } = shop();
  const answer = await callRouter(router, 'GET', '/v1/shop/things?limit=3');
  t.is(answer.status, 200);
  t.is(answer.type, 'application/json; charset=utf-8');
  t.deepEqual(JSON.parse(answer.body), [{ name: 'x', count: 3, on: true }]);
  t.is(answer.headers['ETag'], '"5"');
  t.is(answer.headers['Cache-Control'], 'no-store');
});

test('a slash at the end makes no difference; a path that is written out goes before a name part', async (t) => {
  const { router } = shop();
  t.is((await callRouter(router, 'GET', '/v1/shop/things/')).status, 200);
  t.is((await callRouter(router, 'GET', '/v1/shop/things/special')).body, 'plain');
  t.deepEqual(JSON.parse((await callRouter(router, 'GET', '/v1/shop/things/a b/')).body), { id: 'a b' });
});

test('unknown paths are 404 PathNotFound', async (t) => {
  const { router } = shop();
  for (const path of ['/', '/v1', '/v1/', '/v1/shop', '/v1/shop/thing', '/v1/shop/things/1/2', '/v2/shop/things', '/v1/shop//things', '']) {
    const answer = await callRouter(router, 'GET', path);
    t.is(answer.status, 404, path);
    t.is(errorOf(answer).code, 'PathNotFound', path);
  }
});

test('wrong methods are 405 with Allow; OPTIONS tells it; HEAD works where GET does', async (t) => {
  const { router } = shop();
  const wrong = await callRouter(router, 'PUT', '/v1/shop/things');
  t.is(wrong.status, 405);
  t.is(errorOf(wrong).code, 'MethodNotAllowed');
  t.is(wrong.headers['Allow'], 'GET, HEAD, POST, OPTIONS');
  const options = await callRouter(router, 'OPTIONS', '/v1/shop/things');
  t.is(options.status, 204);
  t.is(options.headers['Allow'], 'GET, HEAD, POST, OPTIONS');
  t.is((await callRouter(router, 'HEAD', '/v1/shop/things')).status, 200);
  t.is((await callRouter(router, 'HEAD', '/v1/openapi.json')).status, 200);
  t.is((await callRouter(router, 'POST', '/v1/openapi.json')).status, 405);
});

test('failures have one body with status, code, text, details, request id and href', async (t) => {
  const { router } = shop();
  const answer = await callRouter(router, 'DELETE', '/v1/shop/things/9');
  t.is(answer.status, 404);
  t.deepEqual(JSON.parse(answer.body), {
    error: { status: 404, code: 'KeyNotFound', text: 'no such thing', details: [] },
    request_id: 'r1',
    href: '/api/v1/shop/things/9',
  });
});

test('an unexpected failure is a 500 that tells nothing, and is logged with the request id', async (t) => {
  const { router, log } = shop();
  const answer = await callRouter(router, 'DELETE', '/v1/shop/things/8');
  t.is(answer.status, 500);
  t.notRegex(answer.body, /secret/);
  t.true(log.lines.some((line) => line.startsWith('[error]') && line.includes('secret') && line.includes('r1')));
});

test('every error of a body is reported at once, with a JSON pointer', async (t) => {
  const { router, things } = shop();
  const body = { count: 10, on: 'maybe', kind: 'c', parts: [{ size: 1 }, { size: 'x', extra: 1 }], strange: 1, 'a/b~c': 2 };
  const answer = await callRouter(router, 'POST', '/v1/shop/things', { body: JSON.stringify(body) });
  t.is(answer.status, 400);
  const { code, details } = errorOf(answer);
  t.is(code, 'InvalidField');
  t.deepEqual(pointersOf(details), ['/a~1b~0c', '/count', '/kind', '/name', '/on', '/parts/1/extra', '/parts/1/size', '/strange']);
  t.is(details.find(({ pointer }) => pointer === '/strange')?.message, 'unknown field');
  t.is(details.find(({ pointer }) => pointer === '/name')?.message, 'is required');
  t.is(details.find(({ pointer }) => pointer === '/kind')?.message, 'must be one of a, b');
  t.deepEqual(things.calls, []);
});

const entries = (count: number, entry: string): string => `{"name":"x","parts":[${Array.from({ length: count }, () => entry).join(',')}]}`;
const keys = (count: number): string => Array.from({ length: count }, (_, at) => `"k${at}":1`).join(',');
const deep = (levels: number): string => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

test('errors without end end the search: 200 of them are reported, at their places', async (t) => {
  const { router } = shop();
  const all = errorOf(await callRouter(router, 'POST', '/v1/shop/things', { body: entries(250_000, '{"size":"x"}') }));
  t.deepEqual([all.code, all.details.length, all.details.at(-1)?.pointer], ['InvalidField', 200, '/parts/199/size']);
  const last = entries(200_000, '{"size":1}').replace(/1\}\]\}$/, '1,"a":{"b":1}},{"extra":1}]}');
  const some = errorOf(await callRouter(router, 'POST', '/v1/shop/things', { body: last }));
  t.deepEqual(pointersOf(some.details), ['/parts/199999/a', '/parts/200000/extra', '/parts/200000/size']);
  const unknown = Object.fromEntries(Array.from({ length: 9000 }, (_, at) => [`k${at}`, 1]));
  const many = errorOf(await callRouter(router, 'POST', '/v1/shop/things', { body: JSON.stringify({ ...unknown, count: 0 }) }));
  t.is(many.details.length, 200);
});

test('a body with too many keys or levels is a JsonError, and is not even parsed', async (t) => {
  const { router } = shop();
  const cases: [body: string, code: string, text: RegExp][] = [
    [`{${keys(400_000)}}`, 'JsonError', /^more than 10000 keys in an object in line 1, column \d+$/],
    [`{"a":{"b":1},${keys(10_000)}}`, 'JsonError', /^more than 10000 keys in an object/],
    [`{${keys(10_000)}}`, 'InvalidField', /many more/],
    [deep(1_000_000), 'JsonError', /^more than 100 levels in line 1, column 105$/],
    [deep(100), 'InvalidField', /more/],
    [`${'['.repeat(100)}"[{:`, 'JsonError', /^invalid JSON/],
  ];
  for (const [body, code, text] of cases) {
    const error = errorOf(await callRouter(router, 'POST', '/v1/shop/things', { body }));
    t.is(error.code, code, body.slice(0, 20));
    t.regex(error.text, text);
  }
});

test('fields that mean something to JavaScript are unknown fields like others', async (t) => {
  const { router } = shop();
  const answer = await callRouter(router, 'POST', '/v1/shop/things', { body: '{"name":"x","__proto__":{"count":5},"constructor":1}' });
  t.deepEqual(pointersOf(errorOf(answer).details), ['/__proto__', '/constructor']);
});

test('numbers may come as text; responses have numbers', async (t) => {
  const { router } = shop();
  const answer = await callRouter(router, 'POST', '/v1/shop/things', { body: '{"name":"5","count":"3","parts":[{"size":"1.5"}]}' });
  t.deepEqual(JSON.parse(answer.body), { name: '5', count: 3, parts: [{ size: 1.5 }] });
  for (const count of ['"3x"', '" 3"', '"0x3"', '"1e0"', '""', 'null', '[3]', '3.5', '"3.5"']) {
    const refused = await callRouter(router, 'POST', '/v1/shop/things', { body: `{"name":"x","count":${count}}` });
    t.is(refused.status, 400, count);
  }
});

/** Bytes before what is no character, and where it is. */
const BEFORE_BAD_BYTES: readonly (readonly [before: string, position: number, line: number, column: number])[] = [
  ['', 0, 1, 1],
  ['{"name":"', 9, 1, 10],
  ['{"name":\n  "grün 😀', 19, 2, 11],
  ['\ufeff{"', 2, 1, 3],
  [`{"name":"${'ü'.repeat(1000)}`, 1009, 1, 1010],
  [`{"name":"${'a😀'.repeat(100_000)}`, 300_009, 1, 300_010],
];

test('a body that is not UTF-8 is a 400 with the position', async (t) => {
  const { router } = shop();
  for (const [before, ...place] of BEFORE_BAD_BYTES)
    for (const bad of ['\xff', '\x80', '\x80\x80\x80\x80\x80\x80', '\xc3', '\xf0\x9f\x98', '\xc0\x80', '\xed\xa0\x80', '\xf4\x90\x80\x80'])
      for (const after of ['', '"}', `ü${' '.repeat(3000)}"}`]) {
        const body = Buffer.concat([Buffer.from(before), Buffer.from(bad, 'latin1'), Buffer.from(after)]);
        const { code, text, details } = errorOf(await callRouter(router, 'POST', '/v1/shop/things', { body }));
        const [position, line, column] = place;
        t.is(`${code}: ${text}`, `JsonError: invalid UTF-8 in line ${line}, column ${column}`);
        t.deepEqual(details, [{ position, line, column }] as never);
      }
});

test('a body that is not JSON is a 400 with the position', async (t) => {
  const { router } = shop();
  const answer = await callRouter(router, 'POST', '/v1/shop/things', { body: '{"name":\n  x}' });
  t.is(answer.status, 400);
  t.is(errorOf(answer).code, 'JsonError');
  t.deepEqual(errorOf(answer).details, [{ position: 11, line: 2, column: 3 }] as never);
  for (const body of ['{"name":', '{', '[1,]', 'x', '{"a":1}}']) {
    const refused = await callRouter(router, 'POST', '/v1/shop/things', { body });
    t.is(errorOf(refused).code, 'JsonError', body);
  }
  for (const body of ['1', 'null', '[]', '"x"'])
    t.is(errorOf(await callRouter(router, 'POST', '/v1/shop/things', { body })).code, 'InvalidField', body);
});

test('an empty body where one is needed is a 400', async (t) => {
  const { router } = shop();
  const answer = await callRouter(router, 'POST', '/v1/shop/things');
  t.is(answer.status, 400);
  t.is(errorOf(answer).code, 'JsonError');
});

test('a body of another type is a 415, one that is too long a 413', async (t) => {
  const { router } = shop();
  const body = '{"name":"x"}';
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=latin1', '']) {
    const answer = await callRouter(router, 'POST', '/v1/shop/things', { body, headers: { 'content-type': type } });
    t.is(answer.status, 415, type);
    t.is(errorOf(answer).code, 'UnsupportedMediaType', type);
  }
  for (const type of ['application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf-8"']) {
    t.is((await callRouter(router, 'POST', '/v1/shop/things', { body, headers: { 'content-type': type } })).status, 201, type);
  }
  const long = await callRouter(router, 'POST', '/v1/shop/things', { body: JSON.stringify({ name: 'x'.repeat(5 * 1024 * 1024) }) });
  t.is(long.status, 413);
  t.is(errorOf(long).code, 'BodyTooLarge');
});

test('query parameters are checked, unknown and repeated ones rejected, together with the body', async (t) => {
  const { router } = shop();
  const answer = await callRouter(router, 'GET', '/v1/shop/things?limit=0&colour=red&limit=1');
  t.deepEqual(pointersOf(errorOf(answer).details), ['?colour', '?limit']);
  t.deepEqual(errorOf(await callRouter(router, 'GET', '/v1/shop/things?limit=0')).details[0]?.pointer, '?limit');
  const both = await callRouter(router, 'POST', '/v1/shop/things?x=1&dry_run=maybe', { body: '{"name":""}' });
  t.deepEqual(pointersOf(errorOf(both).details), ['/name', '?dry_run', '?x']);
});

test('a parameter that is given twice is rejected, also those that every route knows', async (t) => {
  const { router, things } = shop();
  const post = await callRouter(router, 'POST', '/v1/shop/things?dry_run=0&dry_run=1', { body: '{"name":"x"}' });
  t.deepEqual(errorOf(post).details, [{ pointer: '?dry_run', message: 'must be given once' }]);
  t.deepEqual(things.calls, []);
  const get = await callRouter(router, 'GET', '/v1/shop/things?fields=name&fields=on');
  t.deepEqual(errorOf(get).details, [{ pointer: '?fields', message: 'must be given once' }]);
});

test('what is no percent-encoded UTF-8 in a query is rejected; text beyond ASCII may stand as it is', async (t) => {
  const { router } = shop();
  const find = (query: string) => callRouter(router, 'GET', `/v1/shop/names?${query}`);
  for (const value of ['%ff', '%zz', '%', '%c3', '\xff', '%ed%a0%80']) {
    const refused = await find(`name=${value}`);
    t.is(refused.status, 400, value);
    t.deepEqual(errorOf(refused).details, [{ pointer: '?name', message: 'must be percent-encoded UTF-8' }], value);
  }
  t.deepEqual(errorOf(await find('%zz=1&name=a')).details, [{ pointer: '?%zz', message: 'must be percent-encoded UTF-8' }]);
  for (const value of ['gr%C3%BCn+a%2Bb', 'gr\xc3\xbcn%20a%2bb']) t.is((await find(`&name=${value}&`)).body, '"grün a+b"');
});

test('dry_run, If-Match and the request id reach the handler', async (t) => {
  const { router, things } = shop();
  const dry = await callRouter(router, 'POST', '/v1/shop/things/?dry_run=1', { body: '{"name":"x"}', headers: { 'if-match': '"7"' } });
  t.is(dry.status, 200);
  t.deepEqual(JSON.parse(dry.body), { dry_run: true, diff: ['+ x'] });
  t.like(things.calls[0], { dryRun: true, ifMatch: '"7"', requestId: 'r1', base: '/api' });
  const real = await callRouter(router, 'POST', '/v1/shop/things?dry_run=0', { body: '{"name":"x"}' });
  t.is(real.status, 201);
  t.is(real.headers['Location'], '/api/v1/shop/things/1');
});

test('fields selects fields of the response to GET', async (t) => {
  const { router } = shop();
  t.deepEqual(JSON.parse((await callRouter(router, 'GET', '/v1/shop/things?fields=name,on')).body), [{ name: 'x', on: true }]);
  t.is(errorOf(await callRouter(router, 'GET', '/v1/shop/things?fields=nam')).code, 'InvalidField');
  t.is((await callRouter(router, 'POST', '/v1/shop/things?fields=name', { body: '{"name":"x"}' })).status, 400);
});

test('the routes of a change are those of its modules', async (t) => {
  const { router, things } = shop();
  load(router, things);
  t.is((await callRouter(router, 'GET', '/v1/shop/things')).status, 200);
  load(router, {});
  t.is((await callRouter(router, 'GET', '/v1/shop/things')).status, 404);
});

test('the OpenAPI document has every route with its parameters, body, responses and errors', async (t) => {
  const { router } = shop();
  const answer = await callRouter(router, 'GET', '/v1/openapi.json');
  t.is(answer.status, 200);
  const document = JSON.parse(answer.body) as {
    openapi: string;
    info: { version: string };
    servers: { url: string }[];
    paths: Record<
      string,
      Record<
        string,
        {
          operationId: string;
          parameters: { name: string; in: string; required: boolean }[];
          requestBody?: unknown;
          responses: Record<string, unknown>;
        }
      >
    >;
  };
  t.is(document.openapi, '3.1.0');
  t.is(document.info.version, '1.2.3');
  t.is(document.servers[0]?.url, '/api');
  t.deepEqual(Object.keys(document.paths).sort(), ['/v1/shop/names', '/v1/shop/things', '/v1/shop/things/special', '/v1/shop/things/{id}']);
  const post = document.paths['/v1/shop/things']?.['post'];
  t.truthy(post?.requestBody);
  t.deepEqual(Object.keys(post?.responses ?? {}).sort(), [
    '201',
    '204',
    '2XX',
    '400',
    '401',
    '403',
    '409',
    '412',
    '413',
    '415',
    '429',
    '500',
    'default',
  ]);
  t.deepEqual(
    post?.parameters.map(({ name }) => name),
    ['dry_run', 'If-Match', 'If-None-Match', 'Change-Message', 'Prefer'],
  );
  t.deepEqual(
    document.paths['/v1/shop/things']?.['get']?.parameters.map(({ name }) => name),
    ['limit', 'fields'],
  );
  t.like(document.paths['/v1/shop/things/{id}']?.['delete']?.parameters[0], { name: 'id', in: 'path', required: true });
  const ids = Object.values(document.paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
  t.is(new Set(ids).size, ids.length);
  // What the document says of a body is what is checked.
  t.regex(JSON.stringify(post), /"additionalProperties":false/);
});
