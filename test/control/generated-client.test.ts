/** A client that a generator makes of openapi.json compiles under strict rules, and works. */
import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { FetchingJSONSchemaStore, InputData, JSONSchemaInput, quicktype } from 'quicktype-core';
import { generateApi } from 'swagger-typescript-api';
import { get } from '../harness/client.js';
import { findProgram, testWith } from '../harness/programs.js';
import { shared } from '../harness/scope.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { startNode } from './node.js';
import { shippedModules } from './shipped-modules.js';

const TSC = resolve(import.meta.dirname, '../../../node_modules/.bin/tsc');
const STRICT = {
  strict: true,
  noUncheckedIndexedAccess: true,
  target: 'es2023',
  module: 'nodenext',
  lib: ['es2023', 'dom'],
  types: [],
};

/** Adds a member, reads it, and is told of an error; a code that the document does not name would not compile. */
const PROGRAM = `
import { Api, type NewMember } from './client.js';

const api = new Api({ baseUrl: process.argv[2] ?? '' });
const member: NewMember = { server: '10.0.0.1:80', weight: 3 };
const added = await api.v1.postV1UpstreamApiHttpUpstreamsUpstreamServers('demo', member);
const list = await api.v1.getV1UpstreamApiHttpUpstreamsUpstreamServers('demo');
const id: number = added.data.id;
const again = await api.v1.postV1UpstreamApiHttpUpstreamsUpstreamServers('demo', member).catch((response) => response);
const code: 'EntryExists' = again.error.error.code;
console.log(JSON.stringify({ id, servers: list.data.map(({ server }) => server), code }));
declare const process: { argv: string[] };
`;

/** The same in Python, with the classes of the document's schemas. */
const PYTHON_PROGRAM = `
import json, sys
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from client import Error, ListedMember, Member, NewMember

servers = sys.argv[1] + "/v1/upstream_api/http/upstreams/demo/servers"

def call(method: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = Request(servers, data, {"Content-Type": "application/json"}, method=method)
    try:
        return json.load(urlopen(request))
    except HTTPError as error:
        return json.load(error)

new = NewMember(server="10.0.0.2:80", weight=3)
added: Member = Member.from_dict(call("POST", new.to_dict()))
ids: int = added.id
listed = [ListedMember.from_dict(member).server for member in call("GET")]
again: Error = Error.from_dict(call("POST", new.to_dict()))
code: str = again.error.code.value
print(json.dumps({"weight": added.weight, "server": listed[-1], "code": code}))
`;

/** The generator's own functions have fewer types than this asks for; our schemas, and a program that uses them, have all. */
const MYPY = `
[mypy]
strict = True
[mypy-client]
allow_untyped_calls = True
allow_untyped_defs = True
disallow_any_generics = False
warn_return_any = False
`;

type Document = { readonly components: { readonly schemas: Readonly<Record<string, unknown>> } };

/** One server for both clients, which look at members of their own. */
const served = shared(async (scope) => {
  const node = await startNode(scope, { main: shippedModules('api.conf'), controlMain: shippedModules('api_control.conf'), workers: 1 });
  const port = node.srv.port('api');
  return { base: `http://127.0.0.1:${port}/api`, document: (await get(port, '/api/v1/openapi.json')).body };
});

const run = promisify(execFile);
/** What a compiler has to say. */
const complaints = (program: string, args: readonly string[], cwd?: string): Promise<{ readonly stdout: string }> =>
  run(program, args, { cwd }).catch((error: { readonly stdout: string }) => error);

test('a client in TypeScript, of all modules that there are', async (t) => {
  const { base, document } = await served();
  const folder = tempFolder(t);
  const { files } = await generateApi({ spec: JSON.parse(document), output: false, silent: true });
  t.is(files.length, 1);
  // The generator switches the check of types off.
  writeInto(folder, 'client.ts', (files[0]?.fileContent ?? '').replace('// @ts-nocheck', ''));
  writeInto(folder, 'program.ts', PROGRAM);
  writeInto(folder, 'package.json', '{ "type": "module" }');
  writeInto(folder, 'tsconfig.json', JSON.stringify({ compilerOptions: STRICT }));
  const { stdout: errors } = await complaints(TSC, ['-p', folder, '--checkers', '1']);
  t.is(errors, '');
  const { stdout } = await run(process.execPath, [join(folder, 'program.js'), base]);
  t.deepEqual(JSON.parse(stdout), { id: 2, servers: ['127.0.0.1:1', '127.0.0.1:2', '10.0.0.1:80'], code: 'EntryExists' });
});

testWith('mypy')('classes in Python, of all modules that there are, under mypy', async (t) => {
  const { base, document } = await served();
  const folder = tempFolder(t);
  writeInto(folder, 'client.py', await pythonClasses(JSON.parse(document) as Document));
  writeInto(folder, 'program.py', PYTHON_PROGRAM);
  writeInto(folder, 'mypy.ini', MYPY);
  const { stdout: verdict } = await complaints(findProgram('mypy') ?? '', ['program.py'], folder);
  t.is(verdict, 'Success: no issues found in 1 source file\n');
  const { stdout } = await run('python3', [join(folder, 'program.py'), base]);
  t.deepEqual(JSON.parse(stdout), { weight: 3, server: '10.0.0.2:80', code: 'EntryExists' });
});

/** One class for each schema of the document; those of `?fields=` are parts of others. */
async function pythonClasses({ components }: Document): Promise<string> {
  const schemas = Object.entries(components.schemas).filter(([name]) => !name.startsWith('Selected'));
  const definitions: unknown = JSON.parse(
    JSON.stringify(Object.fromEntries(schemas)).replaceAll('#/components/schemas/', '#/definitions/'),
  );
  const input = new JSONSchemaInput(new FetchingJSONSchemaStore());
  await input.addSource({ name: 'api', schema: JSON.stringify({ definitions }), uris: ['#/definitions/'] });
  const inputData = new InputData();
  inputData.addInput(input);
  return (await quicktype({ inputData, lang: 'python' })).lines.join('\n');
}
