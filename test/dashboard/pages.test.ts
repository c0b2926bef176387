/** Every part of the page by the rules of axe-core, and by the keyboard alone. */
import type { TestFn } from 'ava';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from '../harness/browser.js';
import { get } from '../harness/client.js';
import { testWith } from '../harness/programs.js';
import { fileScope, shared } from '../harness/scope.js';
import { openPage, shows, startDashboard } from './dashboard-node.js';
import { look, pictures } from './pictures.js';

const browserTest = testWith('chromium') as TestFn;
const setup = shared((scope) => startDashboard(scope));
const scope = fileScope();

/** Parts of the page, and a text that each shows when it is complete. */
const PLACES: Readonly<Record<string, string>> = {
  overview: 'shop.test',
  errors: 'Failing now',
  slow: 'slow_log 1s;',
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
const LOOKS = ['light', 'phone'] as const;

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
  await page.send('Runtime.evaluate', { expression: readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8') });
  for (const one of LOOKS) {
    await look(page, one);
    for (const [place, text] of Object.entries(PLACES)) {
      await page.value(`location.hash = '#/${place}'`);
      await page.until(shows(text));
      const { passes, violations } = await findings(page);
      t.true(passes > 10, `${place}: axe-core has checked it`);
      t.deepEqual(violations, [], `${place}, ${one}`);
      t.true(await page.value('document.documentElement.scrollWidth <= innerWidth'), `${place} is as wide as the screen, ${one}`);
    }
    await page.value("location.hash = '#/upstreams'");
    await page.until("document.querySelector('.member') !== null");
    await page.value("document.querySelector('.member').click()");
    await page.until("document.getElementById('member-weight') !== null");
    t.deepEqual((await findings(page)).violations, [], `dialog, ${one}`);
    if (one === 'light') await pictures(page, 'member', ['light']);
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
