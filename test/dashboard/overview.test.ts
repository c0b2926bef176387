/** The page of the control plane in a real browser: token, figures, hostile names; and its files. */
import type { TestFn } from 'ava';
import test from 'ava';
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { get, json } from '../harness/client.js';
import { testWith } from '../harness/programs.js';
import { shared } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { HOSTILE, openPage, shows, startDashboard } from './dashboard-node.js';

const browserTest = testWith('chromium') as TestFn;
const setup = shared((scope) => startDashboard(scope));

/** Bytes that the page may need, compressed. */
const MOST_BYTES = 150_000;

interface Figures {
  readonly servers: Readonly<Record<string, { readonly requests: number }>>;
}

test('the files of the page are few and small, come from nowhere else, and nothing in their text runs', async (t) => {
  const { node } = await setup();
  const port = node.srv.port('open');
  const index = await get(port, '/');
  t.is(index.status, 200);
  t.regex(String(index.headers['content-security-policy']), /^default-src 'none'; script-src 'self'; style-src 'self';/);
  t.notRegex(index.body, /https?:|<style|<script(?![^>]* src="app\.js")| style=| on\w+=/);
  const names = Array.from(index.body.matchAll(/(?:src|href)="([^"]+)"/g), ([, name = '']) => name);
  t.deepEqual(names.toSorted(), ['app.js', 'icon.svg', 'style.css']);
  const files = await Promise.all([...names, 'streams.js'].map((name) => get(port, `/${name}`)));
  t.true(files.every(({ status }) => status === 200));
  const size = [index, ...files].reduce((sum, { body }) => sum + gzipSync(body, { level: 9 }).length, 0);
  t.log(`${size} bytes, compressed`);
  t.true(size < MOST_BYTES);
  t.is((await get(port, '/other.js')).status, 404);
  t.is((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST' })).status, 405);
});

test('/v1/dashboard says who calls and what the caller may do, with any token', async (t) => {
  const { node, tokens } = await setup();
  const ask = (port: string, token?: string) =>
    json(node.srv.port(port), 'GET', '/api/v1/dashboard', undefined, token === undefined ? {} : { authorization: `Bearer ${token}` });
  t.like((await ask('open')).json, { actor: 'anonymous', by: 'none', read_only: false });
  t.like((await ask('readonly')).json, { read_only: true });
  t.like((await ask('closed', tokens.shop)).json, {
    actor: 'shop',
    by: 'token',
    scopes: ['read', 'write', 'upstream:shop'],
    read_only: false,
  });
  t.is((await ask('closed')).status, 401);
});

browserTest('chromium: without a token the page asks for one, and shows nothing before', async (t) => {
  const { tokens } = await setup();
  const page = await openPage(await setup(), 'closed');
  await page.until("document.activeElement.id === 'token'");
  await page.type('wrong');
  await page.press('Enter');
  await page.until(shows('the token is not valid'));
  await page.value("document.querySelector('#token').select()");
  await page.type(tokens.reader);
  await page.press('Enter');
  await page.until(shows('read-only'));
  t.is(await page.value('localStorage.length'), 0);
  t.is(await page.value('document.cookie'), '');
  await page.value("[...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Sign out').click()");
  await page.until("document.activeElement.id === 'token'");
  t.is(await page.value('sessionStorage.length'), 0);
  t.deepEqual(page.errors, []);
});

browserTest('chromium: figures are those of the API while traffic runs, and what is wrong is at the top', async (t) => {
  const { node } = await setup();
  const page = await openPage(await setup(), 'open');
  for (let round = 0; round < 5; round++)
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        get(node.srv.port('web'), n === 0 ? '/error' : '/', { headers: { host: n % 2 === 0 ? 'shop.test' : 'other.test' } }),
      ),
    );
  await page.until(shows('127.0.0.1:1 of shop is unavail'));
  const { servers } = (await node.call('GET', '/vts')).json as Figures;
  const total = Object.values(servers).reduce((sum, { requests }) => sum + requests, 0);
  t.true(total >= 100);
  await page.until(shows(`${total.toLocaleString('en')} in all`));
  t.deepEqual(page.errors, []);
});

browserTest('chromium: names that are markup show as text', async (t) => {
  const { node } = await setup();
  const member = '/shop/servers/0';
  t.is((await node.upstreams('PATCH', member, { weight: 2 }, { 'change-message': HOSTILE })).status, 200);
  const page = await openPage(await setup(), 'open');
  await page.until(shows(HOSTILE));
  t.is(await page.value("document.querySelectorAll('[onerror], img[src=x]').length"), 0);
  t.deepEqual(page.errors, []);
});

browserTest(
  'chromium: when the API is away the page says so and keeps the figures; a token that is no longer valid is asked for',
  async (t) => {
    const { tokens } = await setup();
    const page = await openPage(await setup(), 'closed');
    await page.until("document.activeElement.id === 'token'");
    await page.type(tokens.reader);
    await page.press('Enter');
    await page.until(shows('shop.test'));
    const offline = (isOffline: boolean): Promise<unknown> =>
      page.send('Network.emulateNetworkConditions', { offline: isOffline, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
    await page.send('Network.enable');
    await offline(true);
    await page.until(shows('The control plane cannot be reached, since'));
    t.true(await page.value(shows('shop.test')), 'what was known stays');
    await offline(false);
    await page.until("document.querySelector('.outage') === null");
    await page.value("sessionStorage.setItem('srv-token', 'srv_expired')");
    await page.until(shows('the token is not valid'));
    await page.until("document.activeElement.id === 'token'");
    t.deepEqual(page.errors, []);
  },
);

browserTest('chromium: a reload of the files is among the changes, with its difference', async (t) => {
  const { node } = await setup();
  writeFileSync(node.srv.path('conf/srv.conf'), node.srv.read('conf/srv.conf').replace(/http\s*\{/, '$& keepalive_requests 987;'));
  node.srv.signal('SIGHUP');
  await waitFor('the reload', async () => (await node.call('GET', '/history?limit=1')).body.includes('987'));
  const page = await openPage(await setup(), 'open');
  await page.until(shows('Reload of the files'));
  await page.until(shows('keepalive_requests 987'));
  await page.value("location.hash = '#/changes'");
  await page.until("document.querySelector('.history') !== null");
  t.regex(String(await page.text()), /Reload of the files/);
  t.deepEqual(page.errors, []);
});
