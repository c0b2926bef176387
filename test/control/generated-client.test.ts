/** A client that a generator makes of openapi.json compiles under strict rules, and works. */
import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { generateApi } from 'swagger-typescript-api';
import { get } from '../harness/client.js';
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

test('a client in TypeScript, of all modules that there are', async (t) => {
  const node = await startNode(t, { main: shippedModules('srv.conf'), controlMain: shippedModules('srv_ctrl.conf'), workers: 1 });
  const folder = tempFolder(t);
  const document = (await get(node.srv.port('api'), '/api/v1/openapi.json')).body;
  const { files } = await generateApi({ spec: JSON.parse(document), output: false, silent: true });
  t.is(files.length, 1);
  // The generator switches the check of types off.
  writeInto(folder, 'client.ts', (files[0]?.fileContent ?? '').replace('// @ts-nocheck', ''));
  writeInto(folder, 'program.ts', PROGRAM);
  writeInto(folder, 'package.json', '{ "type": "module" }');
  writeInto(folder, 'tsconfig.json', JSON.stringify({ compilerOptions: STRICT }));
  const compiled = await promisify(execFile)(TSC, ['-p', folder]).catch((error: { readonly stdout: string }) => error);
  t.is(compiled.stdout, '');
  const base = `http://127.0.0.1:${node.srv.port('api')}/api`;
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'program.js'), base]);
  t.deepEqual(JSON.parse(stdout), { id: 2, servers: ['127.0.0.1:1', '127.0.0.1:2', '10.0.0.1:80'], code: 'EntryExists' });
});
