/** 1,000 upstreams with 10,000 members in the page. */
import type { TestFn } from 'ava';
import { testWith } from '../harness/programs.js';
import { shared } from '../harness/scope.js';
import type { Page } from '../harness/browser.js';
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

const STEPS = 100;

/** Scrolls to a part of the list, and draws it: script, style and layout. */
const scrollTo = (step: number): string => `(async () => {
  const list = document.querySelector('.virtual');
  list.scrollTop = list.scrollHeight * ${step / STEPS};
  list.dispatchEvent(new Event('scroll'));
  await new Promise((resolve) => setTimeout(resolve));
  list.lastElementChild.lastElementChild?.getBoundingClientRect();
  await new Promise(requestAnimationFrame);
})()`;

/** Parts of the work for a frame. */
const WORK = new Set(['ScriptDuration', 'LayoutDuration', 'RecalcStyleDuration']);

/** Processor time that the page has used for its frames, milliseconds: on a busy machine the clock would tell how long it waited for a processor. */
async function frameTime(page: Page): Promise<number> {
  const metrics = (await page.send('Performance.getMetrics'))['metrics'] as readonly { readonly name: string; readonly value: number }[];
  return metrics.reduce((sum, { name, value }) => (WORK.has(name) ? sum + value * 1000 : sum), 0);
}

browserTest('chromium: 10,000 members are a list of some rows, and scrolling through it stays within a frame', async (t) => {
  t.timeout(180_000);
  const page = await openPage(await setup(), 'open', '#/upstreams');
  await page.until(shows(`${(UPSTREAMS * MEMBERS + 3).toLocaleString('en')} members`));
  t.true(Number(await page.value("document.querySelectorAll('.virtual-row').length")) < 60);
  await page.send('Performance.enable', { timeDomain: 'threadTicks' });
  const costs: number[] = [];
  for (let step = 0; step <= STEPS; step++) {
    const before = await frameTime(page);
    await page.send('Runtime.evaluate', { expression: scrollTo(step), awaitPromise: true });
    costs.push((await frameTime(page)) - before);
  }
  costs.sort((one, other) => one - other);
  t.log(`a step: median ${costs[50]?.toFixed(1)} ms, 90 % within ${costs[90]?.toFixed(1)} ms, the longest ${costs[100]?.toFixed(1)} ms`);
  // Some steps meet a list of members, or figures, that has come meanwhile.
  t.true(costs[50]! < FRAME_MS);
  await page.until("[...document.querySelectorAll('.virtual-row')].length > 5");
  await page.value("document.getElementById('filter').focus()");
  await page.type('10.3.249.10:');
  await page.until(shows('10.3.249.10:80'));
  t.true(Number(await page.value("document.querySelectorAll('.virtual-row').length")) < 10);
  t.deepEqual(page.errors, []);
});
