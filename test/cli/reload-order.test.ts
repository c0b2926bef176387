/** The order of directives is part of what they say: a reload that changes nothing else has to apply it. */
import test from 'ava';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const configuration = (locations: string): string =>
  `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { return 404; } ${locations} } }`;

const ONE = 'location ~ ^/a { return 200 one; }';
const TWO = 'location ~ ^/ab { return 200 two; }';
const THREE = 'location ~ b$ { return 200 three; }';

test('of regular expressions the first counts, also the first after a reload', async (t) => {
  const srv = await startSrv(t, configuration(`${ONE} ${TWO}`));
  t.is((await get(srv.port('web'), '/ab')).body, 'one');
  await reloadWith(configuration(`${TWO} ${ONE}`), 'two');
  await reloadWith(configuration(`${THREE} ${TWO} ${ONE}`), 'three');
  await reloadWith(configuration(`${ONE} ${THREE} ${TWO}`), 'one');

  async function reloadWith(text: string, body: string): Promise<void> {
    await srv.configure(text);
    srv.signal('SIGHUP');
    await waitFor(`the response "${body}"`, async () => (await get(srv.port('web'), '/ab')).body === body);
    t.pass();
  }
});
