import test from 'ava';
import * as fc from 'fast-check';
import { parseText } from '../../core/config/parser.js';
import { exactTree, shownHead, shownTree } from '../../core/contract/print.js';
import { shownText } from '../../core/contract/secrets.js';
import { ConfigTree, IdSource } from '../../core/config/tree.js';
import { quoteWord } from '../../core/contract/words.js';
import { anyText, contentOf, dataOf, shapes } from './random-trees.js';

function parsed(text: string): unknown {
  const { directives, errors } = parseText(text, { ids: new IdSource(), file: 'printed' });
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'));
  return contentOf(directives);
}

test('parsing what was printed gives the same tree', (t) => {
  const property = fc.property(shapes, (shapes) => {
    const tree = ConfigTree.fromData(dataOf(shapes, new IdSource()));
    t.deepEqual(parsed(exactTree(tree.root)), contentOf(tree.root));
  });
  t.notThrows(() => fc.assert(property, { numRuns: 1000 }));
});

test('what was printed and parsed prints the same', (t) => {
  const property = fc.property(shapes, (shapes) => {
    const once = exactTree(dataOf(shapes, new IdSource()));
    const again = exactTree(parseText(once, { ids: new IdSource(), file: 'printed' }).directives);
    t.is(again, once);
  });
  t.notThrows(() => fc.assert(property, { numRuns: 500 }));
});

test('a quoted text is one word, whatever it holds', (t) => {
  const property = fc.property(anyText, (text) => t.deepEqual(parsed(`a ${quoteWord(text)} b {}`), [['a', [text, 'b'], []]]));
  t.notThrows(() => fc.assert(property, { numRuns: 1000 }));
});

for (const text of ['/etc/srv.conf', '\\.php$', '~*\\.(gif|jpg)$', 'http://x?a=b', '${host}x', 'a#b', 'a}b', "it's", '$host', 'a\\b']) {
  test(`${text} needs no quotes`, (t) => t.is(quoteWord(text), text));
}

test('quotes are those that need no escapes', (t) => {
  t.is(quoteWord('a b'), '"a b"');
  t.is(quoteWord('say "x y"'), `'say "x y"'`);
  t.is(quoteWord(`"it's"`), String.raw`"\"it's\""`);
});

const directivesOf = (line: string) => parseText(line, { ids: new IdSource(), file: 'printed' }).directives;
const PEM = (kind: string): string => `-----BEGIN ${kind}-----\nc2VjcmV0\n-----END ${kind}-----\n`;
const KEYS = ['PRIVATE KEY', 'RSA PRIVATE KEY', 'EC PRIVATE KEY', 'ENCRYPTED PRIVATE KEY'];

for (const kind of KEYS) {
  test(`what is shown has no ${kind}, in whatever directive and quotes`, (t) => {
    const key = PEM(kind);
    const lines = [
      `server { ssl_certificate_key "data:${key}"; }`,
      `set $a '${key}';`,
      `proxy_ssl_certificate_key "data:${key.slice(0, -20)}";`,
    ];
    for (const line of lines) {
      const directives = directivesOf(line);
      t.regex(exactTree(directives), /c2VjcmV0/);
      t.notRegex(shownTree(directives), /c2VjcmV0|BEGIN/);
      t.regex(shownTree(directives), /(?:data:|\$a )\(secret\);/);
      for (const text of [line, exactTree(directives), `invalid value "${key}" in x`]) t.notRegex(shownText(text), /c2VjcmV0/, text);
    }
  });
}

const shown = (line: string): string => shownTree(directivesOf(line)).trim();

test('a key after data: looks the same in whatever quotes, in a tree and in text', (t) => {
  const key = PEM('PRIVATE KEY');
  for (const word of [`"data:${key}"`, `'data:${key}'`, `"data:${key.trim()}"`])
    for (const name of ['ssl_certificate_key', 'ssl_dynamic_certificate ecc "data:x"']) {
      const directives = directivesOf(`${name} ${word};`);
      t.is(shownTree(directives), `${name} data:(secret);\n`);
      t.is(shownText(exactTree(directives)), `${name} data:(secret);\n`);
    }
});

test('what follows data: is a key where a key is expected, and files, certificates and other data are shown', (t) => {
  t.is(shown('ssl_certificate_key data:c2VjcmV0;'), 'ssl_certificate_key data:(secret);');
  t.is(shownText('+ ssl_certificate_key data:c2VjcmV0;'), '+ ssl_certificate_key data:(secret);');
  t.is(shownText(`+ ssl_certificate_key "data:a\\"b";\n+ listen 80;`), '+ ssl_certificate_key data:(secret);\n+ listen 80;');
  for (const line of ['ssl_certificate_key a.key;', `ssl_certificate "data:${PEM('CERTIFICATE').trim()}";`, 'return 200 data:text;'])
    t.is(shown(line), exactTree(directivesOf(line)).trim());
  t.is(shownHead({ name: 'ssl_certificate_key', args: [{ text: 'data:x', line: 1, column: 1 }] }), 'ssl_certificate_key data:(secret)');
});

test('secrets are not shown, in a tree and in text: of directives that end in _secret or _password, and of fields that say so', (t) => {
  for (const [line, expected] of [
    ['captcha_secret "a b; c" former;', 'captcha_secret (secret) (secret);'],
    ['secure_link_secret word;', 'secure_link_secret (secret);'],
    ['header Authorization "Bearer word";', 'header Authorization (secret);'],
    ['header x-api-key word;', 'header x-api-key (secret);'],
    [`proxy_set_header 'Authorization' 'Basic d29yZA==';`, `proxy_set_header 'Authorization' (secret);`],
    ['fastcgi_param DB_PASSWORD word if_not_empty;', 'fastcgi_param DB_PASSWORD (secret) (secret);'],
  ] as const) {
    t.is(shown(line), expected);
    t.is(shownText(exactTree(directivesOf(line))), `${expected}\n`);
    t.is(shownText(`+ ${line}\n-     ${line}\n`), `+ ${expected}\n-     ${expected}\n`);
    t.is(shownText(`location / { ${line} return 200; }`), `location / { ${expected} return 200; }`);
  }
});

test('everything else is shown: variables, files, other fields, and messages', (t) => {
  for (const line of [
    'captcha_secret file=captcha_secret;',
    'proxy_set_header Authorization "";',
    'proxy_set_header Authorization $http_authorization;',
    'proxy_set_header Host $host;',
    'fastcgi_param SCRIPT_NAME /a;',
    'header Content-Type = text/html;',
  ]) {
    t.is(shown(line), line);
    t.is(shownText(line), line);
  }
  for (const text of ['"captcha_secret" is duplicate', 'invalid value "a" in proxy_set_header', 'the header is too long'])
    t.is(shownText(text), text);
});
