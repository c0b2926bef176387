/** Values of arguments can be written back: what is printed is read as the same value. */
import test from 'ava';
import { compileTemplate, templateParts } from '../../core/config/template.js';
import { argType } from '../../core/contract/arg-type.js';
import { Signature } from '../../core/contract/arguments.js';
import type { ArgContext, Directives } from '../../core/contract/spec.js';
import { allModules } from '../../tools/docs/all-modules.js';

const lookup = () => () => 'value';
const context: ArgContext = {
  template: (text) => compileTemplate(text, lookup),
  parts: (text) => templateParts(text, lookup),
  path: (text) => text,
};

/** Lines of directives whose types are their modules' own. */
const LINES: readonly string[] = [
  'expires modified +24h',
  'expires @15h30m',
  'expires $expires',
  'gzip_disable msie6 "Mozilla/4"',
  'limit_conn one 5',
  'limit_req burst=7 delay=3',
  'log_format $remote_addr',
  'proxy_redirect ~^/a(.*) /b',
  'return 404',
  'return https://example.com/$uri',
  'rewrite ^/a(.*)$ /b$1?c=d permanent',
  'ssl_session_cache builtin:1000 shared:SSL:10m',
  'allow 10.0.0.0/8',
  'server_name .example.org ~^www',
  'listen 127.0.0.1:80 ssl',
];

async function allDirectives(): Promise<Directives[]> {
  return (await allModules()).map(({ declaration }) => declaration.manifest.directives ?? {});
}

for (const line of LINES) {
  test(`${line} is read as it is written`, async (t) => {
    const [name = '', ...words] = Array.from(line.matchAll(/"[^"]*"|\S+/g), ([word]) => word.replaceAll('"', ''));
    const directives = (await allDirectives()).find((some) => name in some);
    const { fields } = new Signature(directives?.[name] ?? t.fail(name));
    for (const [at, word] of words.entries()) {
      const [, key = '', text = word] = /^(burst|delay)=(.*)$/.exec(word) ?? [];
      const field = fields.find(({ type }) => type.key === key) ?? fields[Math.min(at, fields.length - 1)];
      const type = field?.type.of ?? field?.type ?? t.fail(word);
      const printed = type.print(type.parse(text, context));
      t.is(printed, text);
      t.is(type.json.show(type.parse(printed, context)), text);
    }
  });
}

test('a value that is an object has the text that it was made of, a number itself', (t) => {
  const pattern = argType({ kind: 'text', form: 'regex', parse: (text) => new RegExp(text) });
  t.is(pattern.print(pattern.parse('^a+$', context)), '^a+$');
  const thousandths = argType({ kind: 'number', form: 'n', parse: (text) => Number(text) * 1000, print: (value) => String(value / 1000) });
  t.is(thousandths.print(thousandths.parse('7', context)), '7');
  t.is(thousandths.json.show(7000), '7');
});
