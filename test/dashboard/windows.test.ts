/** Several windows of one browser, which has six connections to a server for all of them. */
import type { TestFn } from 'ava';
import type { Page } from '../harness/browser.js';
import { get } from '../harness/client.js';
import { testWith } from '../harness/programs.js';
import { shared } from '../harness/scope.js';
import { shows, startDashboard } from './dashboard-node.js';

const browserTest = testWith('chromium') as TestFn;
const setup = shared((scope) => startDashboard(scope));

interface Figures {
  readonly servers: Readonly<Record<string, { readonly requests: number }>>;
}

async function openBeside(hash: string, beside?: Page): Promise<Page> {
  const { node, browser } = await setup();
  const page = await browser.page(beside);
  await page.open(`http://127.0.0.1:${node.srv.port('open')}/${hash}`);
  return page;
}

browserTest('chromium: five windows follow the figures and the log at once, and calls have connections', async (t) => {
  t.timeout(180_000);
  const { node } = await setup();
  const send = (): Promise<unknown> => get(node.srv.port('web'), '/error', { headers: { host: 'shop.test' } });
  const first = await openBeside('');
  await first.until(shows('in all'));
  const errors = await openBeside('#/errors', first);
  const pages = [first, errors];
  for (const hash of ['', '#/errors', '#/log']) pages.push(await openBeside(hash, first));
  const [, , third, , log] = pages as [Page, Page, Page, Page, Page];
  for (const page of pages) await page.until(shows('Overview'));
  await log.until(shows('Waiting for the first line'));
  await send();
  for (const page of [first, third]) {
    const { servers } = (await node.call('GET', '/vts')).json as Figures;
    const total = Object.values(servers).reduce((sum, { requests }) => sum + requests, 0);
    await page.until(shows(`${total.toLocaleString('en')} in all`));
  }
  await log.until(shows('/error'));
  for (const page of [errors, pages[3]!]) await page.until(shows('1 requests since this page was opened'));

  // The sixth connection is for calls: no further log is followed.
  await first.value("location.hash = '#/log'");
  await first.until("[...document.querySelectorAll('button')].some(({ textContent }) => textContent === 'time>1s')");
  await first.value("[...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'time>1s').click()");
  await first.until(shows('follow 5 streams already'));
  await errors.open('about:blank');
  await pages[3]!.open('about:blank');
  await first.until(shows('Waiting for the first line'));
  await send();
  await log.until("[...document.querySelectorAll('.log .request')].length === 2");
  for (const page of pages) t.deepEqual(page.errors, []);
});
