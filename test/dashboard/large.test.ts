/** 1,000 upstreams with 10,000 members in the page. */
import type { TestFn } from 'ava';
import { testWith } from '../harness/programs.js';
import { shared } from '../harness/scope.js';
import { openPage, shows, startDashboard } from './dashboard-node.js';

const browserTest = testWith('chromium') as TestFn;

const UPSTREAMS = 1000;
const MEMBERS = 10;
/** Milliseconds of a frame of a screen with 60 a second. */
const FRAME_MS = 16;

const many = Array.from({ length: UPSTREAMS }, (_, n) => {
  const members = Array.from({ length: MEMBERS }, (_, m) => `server 10.${Math.floor(n / 250)}.${n % 250}.${m + 1}:80;`);
  return `upstream group${n} { zone group${n} 64k; ${members.join(' ')} }`;
}).join('\n');
const setup = shared((scope) => startDashboard(scope, { http: many }));

/** Scrolls from the top to the end, and measures what each step costs: script, style and layout. */
const SCROLL = `(async () => {
  const list = document.querySelector('.virtual');
  const costs = [];
  for (let step = 0; step <= 100; step++) {
    const began = performance.now();
    list.scrollTop = list.scrollHeight * step / 100;
    list.dispatchEvent(new Event('scroll'));
    await new Promise((resolve) => setTimeout(resolve));
    list.getBoundingClientRect();
    list.lastElementChild.lastElementChild?.getBoundingClientRect();
    costs.push(performance.now() - began);
    await new Promise(requestAnimationFrame);
  }
  return costs;
})()`;

browserTest('chromium: 10,000 members are a list of some rows, and scrolling through it stays within a frame', async (t) => {
  t.timeout(180_000);
  const page = await openPage(await setup(), 'open', '#/upstreams');
  await page.until(shows(`${(UPSTREAMS * MEMBERS + 3).toLocaleString('en')} members`));
  t.true(Number(await page.value("document.querySelectorAll('.virtual-row').length")) < 60);
  const { result } = await page.send('Runtime.evaluate', { expression: SCROLL, awaitPromise: true, returnByValue: true });
  const costs = (result as { readonly value: readonly number[] }).value.toSorted((one, other) => one - other);
  t.log(`a step: median ${costs[50]?.toFixed(1)} ms, 90 % within ${costs[90]?.toFixed(1)} ms`);
  // A busy machine makes most steps wait for a processor: the fastest tell what a step costs.
  t.true((costs[10] ?? Infinity) < FRAME_MS);
  await page.until("[...document.querySelectorAll('.virtual-row')].length > 5");
  await page.value("document.getElementById('filter').focus()");
  await page.type('10.3.249.10:');
  await page.until(shows('10.3.249.10:80'));
  t.true(Number(await page.value("document.querySelectorAll('.virtual-row').length")) < 10);
  t.deepEqual(page.errors, []);
});
