/** Services that a module's constructor asks for, and errors that it throws. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { check } from '../harness/check.js';
import { plugin, type PluginSource } from '../harness/plugins.js';

const IS_REFUSED: readonly (readonly [what: string, source: PluginSource, reason: string, hint: string])[] = [
  [
    'services that are not named',
    { body: 'constructor(log) { this.log = log; }' },
    'it names 0 of the 1 parameters of its constructor',
    'name them in order: static services = [Log]; TypeScript does it with "emitDecoratorMetadata"',
  ],
  [
    'too few services',
    { body: 'static services = [Log]; constructor(log, pairs) {}', imports: `import { Log } from 'srv/module/log.js';` },
    'it names 1 of the 2 parameters of its constructor',
    'name them in order: static services = [Log]; TypeScript does it with "emitDecoratorMetadata"',
  ],
  [
    'services in no list',
    { body: 'static services = Log; constructor(log) {}', imports: `import { Log } from 'srv/module/log.js';` },
    '"services" must be an array',
    'write it as static services = [Log]',
  ],
  [
    'what is no service',
    { body: 'static services = [Object]; constructor(log) {}' },
    'parameter 1 of its constructor is not a service',
    'services are classes of srv/module, imported without "type"',
  ],
  [
    'a constructor that throws',
    { body: `constructor() { throw new Error('no licence'); }` },
    'its constructor failed: no licence',
    'the code of the module has thrown this: the [crit] line of the log has the stack',
  ],
];

for (const [what, source, reason, hint] of IS_REFUSED) {
  test(`rejected: ${what}`, async (t) => {
    const files = { 'modules/acme.mjs': plugin('acme', source) };
    const { code, stderr, prefix } = await check(t, 'load_module modules/acme.mjs;\nevents {}', files);
    t.is(code, 1);
    t.true(
      stderr.startsWith(`srv: [emerg] cannot load module "${prefix}/modules/acme.mjs": ${reason} in ${prefix}/conf/srv.conf:1\n`),
      stderr,
    );
    t.true(stderr.includes(`\n    ${hint}\n`), stderr);
  });
}

test('the log has the stack of what a module throws while it is loaded', async (t) => {
  const files = {
    'modules/first.mjs': `throw new Error('no licence');`,
    'modules/second.mjs': plugin('second', { body: `constructor() { throw new Error('no key'); }` }),
  };
  const { prefix } = await check(t, 'load_module modules/first.mjs; load_module modules/second.mjs; events {}', files);
  const log = readFileSync(join(prefix, 'logs/error.log'), 'utf8');
  t.regex(log, /\[crit\] .*first\.mjs": no licence at \S+: Error: no licence.* at .*first\.mjs:1/);
  t.regex(log, /\[crit\] .*second\.mjs": its constructor failed: no key: Error: no key.* at new Plugin .*second\.mjs:/);
});
