/** `secure_link` (ngx_http_secure_link_module): each value is the one of nginx. */
import { createHash } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { sameAsNginx } from '../harness/same-as-nginx.js';

const conf = (port: number): string => `server {
  listen 127.0.0.1:${port};
  location / {
    secure_link $arg_md5,$arg_expires;
    secure_link_md5 "$secure_link_expires$uri secret";
    return 200 "[$secure_link] [$secure_link_expires]";
    location /for-ever/ { secure_link $arg_md5; secure_link_md5 "$uri secret"; return 200 "[$secure_link] [$secure_link_expires]"; }
  }
  location /half { secure_link $arg_md5; return 200 "[$secure_link]"; }
  location /p/ { secure_link_secret word; if ($secure_link = "") { return 403; } return 200 "[$secure_link]"; }
  location /outer/ {
    secure_link_secret word;
    location /outer/in/ { secure_link $arg_md5; secure_link_md5 "$uri secret"; return 200 "[$secure_link]"; }
  }
  location /off { return 200 "[$secure_link]"; }
}`;

const md5 = (text: string, encoding: 'base64url' | 'hex' | 'base64' = 'base64url'): string =>
  createHash('md5').update(text).digest(encoding);
const FUTURE = '4102444800';

/** Paths and the bodies of their responses, or their statuses. */
const CASES: readonly (readonly [string, string | number])[] = [
  [`/a?md5=${md5(`${FUTURE}/a secret`)}&expires=${FUTURE}`, `[1] [${FUTURE}]`],
  [`/a?md5=${md5(`${FUTURE}/a secret`)}==&expires=${FUTURE}`, `[1] [${FUTURE}]`],
  [`/b?md5=${md5(`${FUTURE}/a secret`)}&expires=${FUTURE}`, `[] [${FUTURE}]`],
  [`/a?md5=${md5('1000/a secret')}&expires=1000`, '[0] [1000]'],
  [`/a?md5=${md5('2000/a secret')}&expires=1000`, '[] [1000]'],
  [`/a?md5=${md5('0/a secret')}&expires=0`, '[] []'],
  [`/a?md5=${md5('x/a secret')}&expires=x`, '[] []'],
  [`/a?md5=${md5('/a secret')}`, '[] []'],
  [`/a?md5=short&expires=${FUTURE}`, `[] [${FUTURE}]`],
  [`/for-ever/x?md5=${md5('/for-ever/x secret')}`, '[1] []'],
  [`/for-ever/y?md5=${md5('/for-ever/x secret')}`, '[] []'],
  [`/for-ever/x?md5=${md5('/for-ever/x secret')}aaaa`, '[] []'],
  ['/for-ever/x', '[] []'],
  ['/half?md5=x', '[]'],
  [`/p/${md5('linkword', 'hex')}/link`, '[link]'],
  [`/p/${md5('linkword', 'hex').toUpperCase()}/link`, '[link]'],
  [`/p/${md5('a/b%20c?d=eword', 'hex')}/a/b%20c?d=e`, '[a/b%20c?d=e]'],
  [`/p/${md5('a/b cword', 'hex')}/a/b%20c`, 403],
  [`/p/${md5('linkword', 'hex')}/other`, 403],
  [`/p/${md5('word', 'hex')}/`, 403],
  [`/p/${md5('linkword', 'hex').slice(1)}/link`, 403],
  [`/p/x/${md5('linkword', 'hex')}/link`, 403],
  ['/p/', 403],
  [`/outer/in/x?md5=${md5('/outer/in/x secret')}`, '[1]'],
  [`/outer/in/${md5('xword', 'hex')}/x`, '[]'],
  ['/off', '[]'],
];

async function assertCases(t: ExecutionContext, port: number): Promise<void> {
  for (const [path, expected] of CASES) {
    const { status, body } = await get(port, path);
    t.is(typeof expected === 'number' ? status : body, expected, path);
  }
}

sameAsNginx('links', (_, port) => conf(port), assertCases);

test('both forms in one location are rejected', async (t) => {
  const { stderr } = await check(t, 'events {} http { server { location / { secure_link_secret x; secure_link $arg_a; } } }');
  t.true(stderr.includes('"secure_link_secret" cannot be mixed with "secure_link" and "secure_link_md5" in '), stderr);
});
