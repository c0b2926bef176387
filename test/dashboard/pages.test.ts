/**
 * Every part of the page by the rules of axe-core, and pictures of it: `SRV_SCREENSHOTS=1 ava dist/test/dashboard/pages.test.js` writes them
 * into docs/dashboard.
 */
import type { TestFn } from 'ava';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ROOT } from '../docs/source-files.js';
import type { Page } from '../harness/browser.js';
import { get } from '../harness/client.js';
import { testWith } from '../harness/programs.js';
import { fileScope, shared } from '../harness/scope.js';
import { openPage, shows, startDashboard } from './dashboard-node.js';

const browserTest = testWith('chromium') as TestFn;
const setup = shared((scope) => startDashboard(scope));
const scope = fileScope();
const isPictured = process.env['SRV_SCREENSHOTS'] === '1';

/** Parts of the page, and a text that each shows when it is complete. */
const PLACES: Readonly<Record<string, string>> = {
  overview: 'shop.test',
  upstreams: 'unavail',
  servers: 'Configured locations',
  caches: 'pages',
  limits: 'per_key',
  certificates: 'No server has a certificate',
  keys: 'color',
  'settings/http_dyn_limit': 'null removes a value',
  changes: 'heavier',
  nodes: 'Delay p99',
  explain: 'would become of a request',
  log: 'shop.test',
};
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const LOOKS = [
  { scheme: 'light', width: 1440, height: 900 },
  { scheme: 'dark', width: 390, height: 800 },
] as const;

/** In the docs. */
const PICTURES = new Set(['overview-light', 'overview-dark', 'upstreams-light', 'member-light']);

interface Findings {
  readonly passes: number;
  readonly violations: readonly string[];
}

async function findings(page: Page): Promise<Findings> {
  const expression = `axe.run(document, { runOnly: ${JSON.stringify(RULES)} }).then(({ violations, passes }) =>
    ({ passes: passes.length, violations: violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' ')) }))`;
  const { result } = await page.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
  return (result as { value: Findings }).value;
}

async function look(page: Page, { scheme, width, height }: (typeof LOOKS)[number]): Promise<void> {
  await page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
  await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
}

async function picture(page: Page, name: string): Promise<void> {
  if (!isPictured || !PICTURES.has(name)) return;
  const { data } = await page.send('Page.captureScreenshot', { format: 'png' });
  writeFileSync(join(ROOT, 'docs/dashboard', `${name}.png`), Buffer.from(data as string, 'base64'));
}

/** Requests all the time, to all parts. */
function keepBusy(port: number): void {
  const paths = ['/', '/', '/', '/cached/a', '/limited?k=1', '/error'];
  let at = 0;
  const timer = setInterval(
    () =>
      void get(port, paths[at++ % (at % 7 === 0 ? 6 : 5)] ?? '/', { headers: { host: at % 3 === 0 ? 'other.test' : 'shop.test' } }).catch(
        () => undefined,
      ),
    60,
  );
  scope.teardown(() => clearInterval(timer));
}

browserTest('chromium: axe-core finds nothing in any part of the page, light and wide, dark and narrow', async (t) => {
  t.timeout(300_000);
  const { node } = await setup();
  keepBusy(node.srv.port('web'));
  await node.call('POST', '/kv', { key: 'color', value: 'red' });
  await node.upstreams('PATCH', '/api/servers/0', { weight: 2 }, { 'change-message': 'heavier traffic for the first member' });
  const page = await openPage(await setup(), 'open');
  await page.until(shows('is unavail'));
  await page.value("document.getElementById('allow-changes').click()");
  if (isPictured) await new Promise((resolve) => void setTimeout(resolve, 70_000));
  await page.send('Runtime.evaluate', { expression: readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8') });
  for (const one of LOOKS) {
    await look(page, one);
    for (const [place, text] of Object.entries(PLACES)) {
      await page.value(`location.hash = '#/${place}'`);
      await page.until(shows(text));
      const { passes, violations } = await findings(page);
      t.true(passes > 10, `${place}: axe-core has checked it`);
      t.deepEqual(violations, [], `${place}, ${one.scheme}`);
      t.true(await page.value('document.documentElement.scrollWidth <= innerWidth'), `${place} is as wide as the screen, ${one.scheme}`);
      await picture(page, `${place.replace(/\/.*/, '')}-${one.scheme}`);
    }
    await page.value("location.hash = '#/upstreams'");
    await page.until("document.querySelector('.member') !== null");
    await page.value("document.querySelector('.member').click()");
    await page.until("document.getElementById('member-weight') !== null");
    t.deepEqual((await findings(page)).violations, [], `dialog, ${one.scheme}`);
    await picture(page, `member-${one.scheme}`);
    await page.value("[...document.querySelectorAll('dialog button')].find(({ textContent }) => textContent === 'Cancel').click()");
  }
  t.deepEqual(page.errors, []);
});

browserTest('chromium: with the keyboard alone from the top of the page to the dialog of a member and back', async (t) => {
  const page = await openPage(await setup(), 'open', '#/upstreams');
  await page.until("document.getElementById('allow-changes') !== null");
  await page.value("document.getElementById('allow-changes').click()");
  await page.until("document.querySelector('.member') !== null");
  await page.press('Tab');
  for (let presses = 0; presses < 40 && (await page.value("document.activeElement.classList.contains('member')")) !== true; presses++)
    await page.press('Tab');
  t.true(await page.value("document.activeElement.classList.contains('member')"));
  await page.press('Enter');
  await page.until("document.querySelector('dialog')?.contains(document.activeElement) === true");
  await page.until("document.getElementById('member-weight') !== null");
  await page.tabTo('member-weight');
  await page.value("document.querySelector('dialog').dispatchEvent(new Event('cancel', { cancelable: true }))");
  await page.until("document.querySelector('dialog') === null");
  t.deepEqual(page.errors, []);
});
