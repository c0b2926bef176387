/** What the README tells a new user to do is what there is. */
import test from 'ava';
import { findInstallation } from '../../core/kernel/installation.js';
import { STANDARD_MODULES } from '../../core/kernel/standard-modules.js';
import { selfSigned } from '../harness/certificate.js';
import { runSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { readRoot } from './source-files.js';

/** The first indented block after a sentence, without its indentation. */
function blockBehind(text: string, sentence: string): string {
  const [, rest] = text.split(sentence);
  const [block = ''] = /(?:^(?: {4}.*)?\n)+/m.exec(rest ?? '') ?? [];
  return block.replaceAll(/^ {4}/gm, '');
}

function modulesOf(file: string): ReadonlySet<string> {
  return new Set(Array.from(readRoot(file).matchAll(/^load_module modules\/(\w+)\.so;$/gm), ([, name = '']) => name));
}

test('the lines to try are those that a start prints', (t) => {
  const readme = readRoot('README.md');
  const messages = [...readRoot('conf/srv.conf').matchAll(/^start_message "[^:]+: +(?<command>.*)";$/gm)];
  t.is(messages.length, 3);
  for (const { groups } of messages) t.true(readme.includes(`\n    ${groups?.['command']?.replaceAll('\\"', '"')}\n`), groups?.['command']);
});

test('the first own configuration is accepted', async (t) => {
  const conf = blockBehind(readRoot('README.md'), 'This is `~/site/conf/srv.conf`:');
  t.regex(conf, /proxy_pass/);
  t.regex(conf, /include conf\/api\.conf;/);
  const { code, stderr } = await runSrv(t, ['-t'], conf);
  t.is(code, 0, stderr);
});

test('the shipped files of the API load both halves of everything that the API can change', (t) => {
  const [data, control] = [modulesOf('conf/api.conf'), modulesOf('conf/api_control.conf')];
  const modules = [...findInstallation().modules.keys()];
  const others = new Set([...STANDARD_MODULES, 'srv_http_plus_api_module', 'srv_http_api_module']);
  const halves = modules.filter((name) => /_(?:dyn|api)_/.test(name) && !others.has(name));
  t.deepEqual(
    halves.filter((name) => !data.has(name) && !control.has(name)),
    [],
  );
  const settings = (names: ReadonlySet<string>): readonly string[] =>
    [...names].filter((name) => name.includes('_dyn_') && control.has(name) && !name.endsWith('_api_module'));
  t.deepEqual(settings(data), settings(control));
});

test('the configuration that docs/configuration.md begins with is accepted', async (t) => {
  const conf = blockBehind(readRoot('docs/configuration.md'), '## The language');
  t.regex(conf, /proxy_pass/);
  const { code, stderr } = await runSrv(t, ['-t'], conf);
  t.is(code, 0, stderr);
});

test('the two configurations of docs/production.md are accepted', async (t) => {
  const [conf, control] = ['`/var/lib/srv/conf/srv.conf`:', 'of the installation:'].map((sentence) =>
    blockBehind(readRoot('docs/production.md'), sentence).replace('user srv;', '').replaceAll('/etc/letsencrypt/live/www.example.org/', ''),
  );
  t.regex(conf ?? '', /proxy_pass/);
  t.regex(control ?? '', /api_tokens api_tokens;/);
  const { cert, key } = selfSigned('www.example.org');
  const prefix = tempFolder(t);
  const files = { 'conf/srv_ctrl.conf': control ?? '', 'conf/fullchain.pem': cert, 'conf/privkey.pem': key };
  await runSrv(t, ['token', 'add', 'admin', 'write'], conf, { prefix, files });
  const { code, stderr } = await runSrv(t, ['-t'], undefined, { prefix });
  t.is(code, 0, stderr);
});
