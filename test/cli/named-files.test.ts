import test from 'ava';
import { READ_FILES } from '../../core/cli/named-files.js';
import { allModules } from '../../tools/docs/all-modules.js';

/** What directives are called whose argument is a file that the server reads. */
const FILE = /_(?:certificate|certificate_key|crl|dhparam|ticket_key|file|tokens)$/;
/** They name none, one that is never read, or what the API brings. */
const OTHERS = new Set(['lock_file', 'server_tokens', 'ssl_await_certificate', 'ssl_dynamic_certificate', 'ssl_ech_file']);

test('root reads the files of all directives that name one', async (t) => {
  const names = (await allModules()).flatMap(({ declaration }) => Object.keys(declaration.manifest.directives ?? {}));
  const files = names.filter((name) => FILE.test(name) && !OTHERS.has(name));
  t.true(files.includes('ssl_certificate_key') && files.includes('api_tokens'));
  t.deepEqual(
    files.filter((name) => !READ_FILES.test(name)),
    [],
  );
});
