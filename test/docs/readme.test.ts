/** What the README tells a new user to do is what there is. */
import test from 'ava';
import { runSrv } from '../harness/srv.js';
import { readRoot } from './source-files.js';

/** The first indented block behind a sentence, without its indentation. */
function blockBehind(text: string, sentence: string): string {
  const [, rest] = text.split(sentence);
  const [block = ''] = /(?:^(?: {4}.*)?\n)+/m.exec(rest ?? '') ?? [];
  return block.replaceAll(/^ {4}/gm, '');
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
  const helpers = Object.fromEntries(['conf/srv_broker.conf', 'conf/srv_ctrl.conf'].map((path) => [path, readRoot(path)]));
  const { code, stderr } = await runSrv(t, ['-t'], conf, { files: helpers });
  t.is(code, 0, stderr);
});

test('the configuration that docs/configuration.md begins with is accepted', async (t) => {
  const conf = blockBehind(readRoot('docs/configuration.md'), '## The language');
  t.regex(conf, /proxy_pass/);
  const { code, stderr } = await runSrv(t, ['-t'], conf);
  t.is(code, 0, stderr);
});
