import test from 'ava';
import { isOfNginx } from '../../core/config/nginx-directives.js';
import { allModules } from '../../tools/docs/all-modules.js';

test('what srv has itself is not in the list of what only nginx has', async (t) => {
  const names = (await allModules()).flatMap((module) => Object.keys(module.declaration.manifest.directives ?? {}));
  t.true(names.includes('proxy_pass'));
  t.deepEqual(names.filter(isOfNginx), []);
});

test('modules of nginx of which srv has nothing are known by how their directives begin', (t) => {
  t.true(isOfNginx('uwsgi_pass'));
  t.false(isOfNginx('uwsgi'));
});
