/** Changes made with the page: each shows its difference first, and can be undone. */
import type { TestFn } from 'ava';
import type { Page } from '../harness/browser.js';
import { get } from '../harness/client.js';
import { testWith } from '../harness/programs.js';
import { shared } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { openPage, shows, startDashboard, type TokenName } from './dashboard-node.js';

const browserTest = testWith('chromium') as TestFn;
const setup = shared((scope) => startDashboard(scope));

/** Buttons of the page that change something. */
const CHANGING =
  "[...document.querySelectorAll('button')].filter(({ textContent }) => /Add|Edit|Remove|Purge|Review|Back to|Save/.test(textContent)).length";

async function signIn(token: TokenName, hash: string): Promise<Page> {
  const { tokens } = await setup();
  const page = await openPage(await setup(), 'closed', hash);
  await page.until("document.activeElement.id === 'token'");
  await page.type(tokens[token]);
  await page.press('Enter');
  await page.until("document.querySelector('main h1') !== null");
  return page;
}

/** Presses the button with this text or name, as soon as there is one. */
async function press(page: Page, name: string): Promise<void> {
  const found = `[...document.querySelectorAll('button:not(:disabled), label')].find((one) => one.textContent.trim() === ${JSON.stringify(name)} || one.ariaLabel === ${JSON.stringify(name)})`;
  await page.until(`${found} !== undefined`);
  await page.value(`${found}.click()`);
}

/** Replaces the text of a field. */
async function fill(page: Page, id: string, text: string): Promise<void> {
  await page.until(`document.getElementById(${JSON.stringify(id)}) !== null`);
  await page.value(`(() => { const field = document.getElementById(${JSON.stringify(id)}); field.focus(); field.select(); })()`);
  await page.type(text);
}

/** Waits for the difference, applies it, and waits for the end. */
async function confirm(page: Page, difference: readonly string[]): Promise<void> {
  for (const line of difference) await page.until(shows(line));
  await press(page, 'Apply');
  await page.until("document.querySelector('.toast') !== null");
}

async function weights(upstream: string): Promise<readonly (readonly [string, unknown])[]> {
  const { node } = await setup();
  return (await node.members(upstream)).map((member) => [member.server, member['weight']] as const);
}

browserTest.serial('chromium: a weight is changed after its difference was shown, with a reason, and the change is undone', async (t) => {
  const { node } = await setup();
  const page = await signIn('writer', '#/upstreams/http/shop');
  const before = await weights('shop');
  await press(page, '127.0.0.1:1');
  await fill(page, 'member-weight', '7');
  await press(page, 'Review');
  await page.until(shows('+ server 127.0.0.1:1 weight=7'));
  t.deepEqual(await weights('shop'), before, 'nothing is changed before it is confirmed');
  await page.type('more of it');
  await confirm(page, ['- server 127.0.0.1:1 ']);
  t.like(Object.fromEntries(await weights('shop')), { '127.0.0.1:1': 7 });
  const [newest] = (await node.call('GET', '/history?limit=1')).json as { readonly actor: string; readonly message: string }[];
  t.like(newest, { message: 'more of it' });
  await press(page, 'Undo');
  await confirm(page, ['+ server 127.0.0.1:1 ', '- server 127.0.0.1:1 weight=7']);
  t.deepEqual(await weights('shop'), before);
  t.deepEqual(page.errors, []);
});

browserTest.serial('chromium: members are drained, added and removed', async (t) => {
  const { node } = await setup();
  const page = await signIn('writer', '#/upstreams/http/shop');
  await press(page, '127.0.0.1:1');
  await press(page, 'Drain: no new clients');
  await press(page, 'Review');
  await confirm(page, ['drain']);
  t.is((await node.members('shop'))[1]?.['drain'], true);
  await press(page, 'Add a member to shop');
  await fill(page, 'member-server', '127.0.0.1:3');
  await press(page, 'Review');
  await confirm(page, ['+ server 127.0.0.1:3']);
  t.is((await node.members('shop')).length, 3);
  await press(page, '127.0.0.1:3');
  await press(page, 'Remove');
  await confirm(page, ['- server 127.0.0.1:3']);
  t.is((await node.members('shop')).length, 2);
  await press(page, '127.0.0.1:1');
  await fill(page, 'member-weight', '0');
  await press(page, 'Review');
  await page.until(shows('must be >= 1'));
  t.true(await page.value("document.getElementById('confirm').disabled"));
});

browserTest.serial('chromium: a key is added and undone, a cache purged, a setting changed, a version rolled back', async (t) => {
  const { node } = await setup();
  const page = await signIn('writer', '#/keys');
  await press(page, 'Add …');
  await fill(page, 'pair-key', 'color');
  await fill(page, 'pair-value', 'red');
  await press(page, 'Review');
  await confirm(page, ['+ color = red']);
  t.is((await node.call('GET', '/kv/keys/color')).status, 200);
  await press(page, 'Undo');
  await confirm(page, ['- color = red']);
  t.is((await node.call('GET', '/kv/keys/color')).status, 404);

  await page.value("location.hash = '#/caches'");
  await press(page, 'Purge pages');
  await press(page, 'Everything');
  await press(page, 'Review');
  await confirm(page, ['- everything: removed']);

  await page.value("location.hash = '#/settings/http_dyn_header'");
  await fill(
    page,
    'setting',
    JSON.stringify({
      servers: [{ listens: [`127.0.0.1:${node.srv.port('web')}`], serverNames: ['shop.test'], headers: [{ key: 'X-Dash', value: 'yes' }] }],
    }),
  );
  await press(page, 'Review');
  await confirm(page, ['+ add_header X-Dash yes;']);
  t.true(JSON.stringify((await node.call('GET', '/config/http_dyn_header')).json).includes('X-Dash'));
  const [newest] = (await node.call('GET', '/history?limit=1')).json as { readonly version: number }[];
  await page.value(`location.hash = '#/changes/${newest?.version}'`);
  await press(page, 'Back to before this change …');
  await confirm(page, ['- add_header X-Dash yes;']);
  t.false(JSON.stringify((await node.call('GET', '/config/http_dyn_header')).json).includes('X-Dash'));
  t.deepEqual(page.errors, []);
});

browserTest.serial('chromium: without the right to change nothing can be, and a token for one upstream changes that', async (t) => {
  const pages = ['#/upstreams', '#/keys', '#/caches', '#/changes', '#/settings/http_dyn_header'];
  const reader = await signIn('reader', '#/upstreams');
  for (const page of [reader, await openPage(await setup(), 'open'), await openPage(await setup(), 'readonly')]) {
    await page.until("document.querySelector('nav') !== null");
    for (const hash of pages) {
      await page.value(`location.hash = '${hash}'`);
      await waitFor(hash, async () => (await page.value("document.querySelector('main .panel') !== null")) === true);
      t.is(await page.value(CHANGING), 0, hash);
    }
  }
  const shop = await signIn('shop', '#/upstreams');
  await shop.until('document.querySelector(\'[aria-label="Add a member to shop"]\') !== null');
  t.true(await shop.value('document.querySelector(\'[aria-label="Add a member to api"]\') === null'));
  const open = await openPage(await setup(), 'open', '#/upstreams');
  await open.until("document.getElementById('allow-changes') !== null");
  await open.value("document.getElementById('allow-changes').click()");
  await open.until('document.querySelector(\'[aria-label="Add a member to api"]\') !== null');
});

browserTest.serial('chromium: an upstream, a server and a location are added, changed and removed', async (t) => {
  const { node } = await setup();
  const bodies = async (): Promise<string> => (await node.call('GET', '/config/effective')).body;
  const page = await signIn('writer', '#/upstreams');
  const before = await bodies();
  await press(page, 'Add an upstream …');
  await fill(page, 'block-upstream_name', 'extra');
  await fill(page, 'block-body', 'zone extra 64k; server 127.0.0.1:4;');
  await press(page, 'Review');
  await confirm(page, ['+ upstream extra {']);
  await press(page, 'Edit upstream extra');
  await fill(page, 'block-body', 'zone extra 64k; least_conn;');
  await press(page, 'Review');
  await confirm(page, ['+ least_conn;']);

  await page.value("location.hash = '#/servers'");
  await press(page, 'Add a server …');
  await fill(page, 'block-addr_port', `127.0.0.1:${node.srv.port('web')}`);
  await fill(page, 'block-server_name', 'added.test');
  await fill(page, 'block-body', 'location / { proxy_pass http://extra; }');
  await press(page, 'Review');
  await confirm(page, ['+ server {']);
  await press(page, 'Add a location to added.test');
  await fill(page, 'block-location_name', '/fine');
  await fill(page, 'block-body', 'return 200 fine');
  await press(page, 'Review');
  await confirm(page, ['+ location /fine {']);
  t.is((await get(node.srv.port('web'), '/fine', { headers: { host: 'added.test' } })).body, 'fine');
  await press(page, 'Edit location /fine of added.test');
  await fill(page, 'block-body', 'return 200 finer');
  await press(page, 'Review');
  await confirm(page, ['- return 200 fine;', '+ return 200 finer;']);
  t.is((await get(node.srv.port('web'), '/fine', { headers: { host: 'added.test' } })).body, 'finer');

  // An error is shown, and nothing is changed.
  await press(page, 'Edit server added.test');
  await fill(page, 'block-body', 'proxy_pas http://extra');
  await press(page, 'Review');
  await page.until(shows('unknown directive "proxy_pas"'));
  await press(page, 'Cancel');
  for (const [name, place] of [
    ['Edit server added.test', '#/servers'],
    ['Edit upstream extra', '#/upstreams'],
  ] as const) {
    await page.value(`location.hash = ${JSON.stringify(place)}`);
    await press(page, name);
    await press(page, 'Remove');
    await confirm(page, ['- ']);
  }
  t.is(await bodies(), before);
  t.deepEqual(page.errors, []);
});

browserTest.serial('chromium: a location of the configuration file is changed, and the change is undone', async (t) => {
  const { node } = await setup();
  const page = await signIn('writer', '#/servers');
  await press(page, 'Edit location /limited of shop.test');
  await fill(page, 'block-body', 'return 200 here');
  await page.until(shows('of the configuration file'));
  await press(page, 'Review');
  await confirm(page, ['+ return 200 here;']);
  t.is((await get(node.srv.port('web'), '/limited', { headers: { host: 'shop.test' } })).body, 'here');
  await press(page, 'Undo');
  await confirm(page, ['- return 200 here;']);
  t.not((await get(node.srv.port('web'), '/limited?k=undone', { headers: { host: 'shop.test' } })).body, 'here');
  t.deepEqual(page.errors, []);
});
