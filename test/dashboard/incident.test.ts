/**
 * Questions of an operator in an incident, for the page alone: which member is slow and since when, which errors rise and where they come
 * from, what was changed and by whom, when a certificate ends, whether a zone is full, which requests are slow and in which phase.
 */
import type { TestFn } from 'ava';
import type { Page } from '../harness/browser.js';
import { testWith } from '../harness/programs.js';
import { shared } from '../harness/scope.js';
import { openPage } from './dashboard-node.js';
import { CHANGE, startIncident } from './incident-node.js';
import { look, pictures } from './pictures.js';

const browserTest = testWith('chromium') as TestFn;
const setup = shared(startIncident);

/** An expression that is true when one row or line of the page shows all of these texts. */
const together = (...texts: readonly string[]): string =>
  `[...document.querySelectorAll('tr, .problems li, .changes li, .log p')].some(({ innerText }) => ${JSON.stringify(texts)}.every((text) => innerText.includes(text)))`;

/** As {@link together}, of a row of the list of members. */
const member = (address: string, words: string): string =>
  `[...document.querySelectorAll('.virtual-row')].some(({ innerText }) => innerText.includes(${JSON.stringify(address)}) && /${words}/.test(innerText))`;

async function go(page: Page, place: string): Promise<void> {
  await page.value(`location.hash = '#/${place}'`);
}

browserTest.serial('chromium: the overview shows what is wrong, since when, and who changed what before', async (t) => {
  t.timeout(300_000);
  const { slow, failing } = await setup();
  const page = await openPage(await setup(), 'open');
  await page.until(together(`${slow} of checkout is slow`, 'first byte after', 'the others need', 'for '));
  await page.until(together('of the responses of www.example are 5xx', '500 ×', `from ${failing} of search`, 'for '));
  await page.until(together('127.0.0.1:1 of search is unavail', 'Connection refused', 'for '));
  await page.until(together('Certificate of www.example ends in 5 days', String(new Date(Date.now() + 5.5 * 86_400_000).getFullYear())));
  await page.until(together('Limit zone clients is full', 'make the zone larger'));
  await page.until(together(CHANGE, 'writer', `- server ${slow};`, `+ server ${slow} weight=2;`, 'ago'));
  t.false(await page.value(together('is slow', 'for at least')), 'the server knows since when');
  await pictures(page, 'overview', ['light', 'dark', 'phone']);
  t.deepEqual(page.errors, []);
  await page.open('about:blank');
});

browserTest.serial('chromium: errors by server, location and member, and the requests that fail', async (t) => {
  t.timeout(300_000);
  const { failing } = await setup();
  const page = await openPage(await setup(), 'open', '#/errors');
  await page.until(together('www.example', 'server', '%'));
  await page.until(together('search', 'location', '500 ×'));
  await page.until(together(`${failing} of search`, 'member', '100 %', '500 ×'));
  await page.until(together('500', '/search?q=shoes', failing));
  await pictures(page, 'errors', ['light']);
  t.deepEqual(page.errors, []);
  await page.open('about:blank');
});

browserTest.serial('chromium: slow members since when, and slow requests with the phase that took the time', async (t) => {
  t.timeout(300_000);
  const { slow, failing } = await setup();
  const page = await openPage(await setup(), 'open', '#/slow');
  await page.until(together(slow, 'checkout', 'of the others', 's'));
  await page.until(together('GET', '/checkout', 'first byte', `${slow} of checkout`));
  t.regex(String(await page.value("document.querySelector('.phase-list').innerText")), /first byte \d/);
  await pictures(page, 'slow', ['light']);
  await go(page, 'limits');
  await page.until(together('clients', 'full'));
  await go(page, 'upstreams');
  await page.until(member(slow, 'slow[^]*first byte after'));
  await page.until(member(failing, 'failing[^]*100 % of its responses are 5xx: 500 ×'));
  await look(page, 'light');
  await pictures(page, 'upstreams', ['light']);
  t.deepEqual(page.errors, []);
  await page.open('about:blank');
});
