/** The page of a challenge in a real browser. */
import type { TestFn } from 'ava';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempFolder } from '../harness/temp.js';
import { createRequire } from 'node:module';
import { Browser, type Page } from '../harness/browser.js';
import type { RequestListener } from 'node:http';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { testWith } from '../harness/programs.js';
import { fileScope, shared as sharedScope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { perceive, SECRET } from './captcha-client.js';

const browserTest = testWith('chromium') as TestFn;

interface Setup {
  readonly srv: Srv;
  readonly browser: Browser;
}

const FORM =
  '<form method=post action="/save?k=form&x=1"><input name=a value="1 &amp; 2"><textarea name=b>one\ntwo</textarea><button id=send>send</button></form>';
const UPLOAD = FORM.replace('<form', '<form enctype=multipart/form-data').replace('<textarea', '<input type=file name=c><textarea');

/** The member: a form, and for every other path a copy of the request. */
const respond: RequestListener = (request, response) =>
  void bodyOf(request).then((body) => {
    response.setHeader('content-type', 'text/html');
    const shown = `hello ${request.method} ${request.url} [${body}]`.replaceAll('&', '&amp;');
    response.end(request.url === '/form' ? FORM : request.url === '/upload' ? UPLOAD : `<pre>${shown}</pre>`);
  });

const shared = sharedScope(async (scope): Promise<Setup> => {
  const pages = await httpBackend(scope, respond);
  const srv = await startSrv(
    scope,
    `load_module modules/srv_http_captcha_module.so;
    worker_processes 2;
    events {}
    http {
      captcha_zone $arg_k zone=c:1m; captcha_secret '${SECRET}';
      server {
        listen 127.0.0.1:%%PORT_web%%; captcha on; captcha_limit_rate c 5; default_type text/html;
        location / { proxy_pass http://127.0.0.1:${pages.port}; }
        location /image { captcha_mode image; proxy_pass http://127.0.0.1:${pages.port}; }
        location /pow { captcha_mode pow; proxy_pass http://127.0.0.1:${pages.port}; }
      }
    }`,
  );
  return { srv, browser: await Browser.start(scope) };
});

const scope = fileScope();

/** Requests of a key all the time, more than the rate, also on a busy machine. */
function keepBusy(port: number, key: string): void {
  let isOver = false;
  const timer = setInterval(() => void get(port, `/?k=${key}`).catch(() => undefined), 60);
  scope.teardown(() => {
    if (!isOver) clearInterval(timer);
    isOver = true;
  });
}

async function busyPage(key: string): Promise<{ readonly port: number; readonly page: Page; readonly url: string }> {
  const { srv, browser } = await shared();
  const port = srv.port('web');
  keepBusy(port, key);
  await Promise.all(Array.from({ length: 12 }, () => get(port, `/?k=${key}`)));
  return { port, page: await browser.page(), url: `http://127.0.0.1:${port}` };
}

/** Path of the sounds of a page, or of its picture if there are none. */
async function shownOf(page: Page): Promise<string> {
  return String(await page.value("(document.querySelector('audio') ?? document.querySelector('img')).getAttribute('src')"));
}

browserTest('chromium: work is done without a click, and leads back to the page with its query', async (t) => {
  for (const place of ['/auto', '/pow']) {
    const { page, url } = await busyPage(`work${place.slice(1)}`);
    const path = `${place}?k=work${place.slice(1)}&q=a+b%26c`;
    await page.open(url + path);
    await page.until("document.body.innerText.startsWith('hello')");
    t.is(await page.text(), `hello GET ${path} []`);
    t.is(await page.value('location.pathname + location.search'), path);
    t.is(await page.value('document.cookie'), '', 'no script sees the cookie');
    t.deepEqual(page.errors, []);
  }
});

browserTest('chromium: a picture instead of work; wrong, right, with the keyboard alone', async (t) => {
  const { port, page, url } = await busyPage('choice');
  // Work that takes until the picture is chosen.
  await page.send('Emulation.setCPUThrottlingRate', { rate: 1 });
  await page.send('Page.addScriptToEvaluateOnNewDocument', { source: 'Worker.prototype.postMessage = () => {}' });
  await page.open(`${url}/auto?k=choice&q=1`);
  await page.until("document.getElementById('captcha-choose') !== null && !document.getElementById('captcha-work').hidden");
  t.true(await page.value("document.getElementById('captcha-reading').hidden"));
  await page.tabTo('captcha-choose');
  await page.press('Enter');
  await page.until("document.activeElement.id === 'captcha-solution'");
  await page.until("document.querySelector('img').complete && document.querySelector('img').naturalWidth === 330");
  await page.type('wrong');
  await page.press('Enter');
  await page.until("document.querySelector('[role=alert]') !== null");
  t.regex(String(await page.text()), /That was not right\. Please try again\./);
  await page.until("document.activeElement.id === 'captcha-solution'");
  await page.type(await perceive(port, await shownOf(page)));
  await page.press('Enter');
  await page.until("document.body.innerText.startsWith('hello')");
  t.is(await page.text(), 'hello GET /auto?k=choice&q=1 []');
  t.deepEqual(page.errors, []);
});

browserTest('chromium: without JavaScript, with the keyboard alone', async (t) => {
  for (const place of ['/image', '/auto']) {
    const key = `none${place.slice(1)}`;
    const { port, page, url } = await busyPage(key);
    await page.send('Emulation.setScriptExecutionDisabled', { value: true });
    await page.open(`${url}${place}?k=${key}&q=1`);
    await page.until("document.querySelector('img')?.naturalWidth === 330");
    await page.tabTo('captcha-solution');
    await page.type(await perceive(port, await shownOf(page)));
    await page.press('Tab');
    await page.press('Enter');
    await page.until("document.body.innerText.startsWith('hello')");
    t.is(await page.text(), `hello GET ${place}?k=${key}&q=1 []`);
  }
});

browserTest('chromium: a form is sent again after the challenge, as it was', async (t) => {
  const { port, page, url } = await busyPage('form');
  await page.open(`${url}/form`);
  await page.until("document.getElementById('send') !== null");
  t.is((await get(port, '/form')).status, 200);
  await page.tabTo('send');
  await page.press('Enter');
  await page.until("document.body.innerText.startsWith('hello')");
  t.is(await page.text(), 'hello POST /save?k=form&x=1 [a=1+%26+2&b=one%0D%0Atwo]');
  t.deepEqual(page.errors, []);
});

browserTest('chromium: a form with a file field is sent again with its encoding', async (t) => {
  const { page, url } = await busyPage('form');
  await page.open(`${url}/upload`);
  await page.until("document.getElementById('send') !== null");
  await page.tabTo('send');
  await page.press('Enter');
  await page.until("document.body.innerText.startsWith('hello')");
  const text = String(await page.text()).replaceAll(/-{4,}\w+/g, '--x');
  t.regex(text, /^hello POST \/save\?k=form&x=1 \[--x\s+Content-Disposition: form-data; name="a"\s+1 & 2\s+--x/);
  t.regex(text, /name="b"\s+one\s+two\s/);
  t.regex(text, /name="c"; filename=""/);
});

browserTest('chromium: files of a form are chosen again before it is sent', async (t) => {
  const { page, url } = await busyPage('form');
  const folder = tempFolder(t);
  writeFileSync(join(folder, 'a.txt'), 'content');
  const choose = async (selector: string): Promise<void> => {
    const { root } = (await page.send('DOM.getDocument')) as { root: { nodeId: number } };
    const { nodeId } = await page.send('DOM.querySelector', { nodeId: root.nodeId, selector });
    await page.send('DOM.setFileInputFiles', { nodeId, files: [join(folder, 'a.txt')] });
  };
  await page.open(`${url}/upload`);
  await page.until("document.getElementById('send') !== null");
  await choose('[name=c]');
  await page.tabTo('send');
  await page.press('Enter');
  await page.until("document.getElementById('captcha-resend') !== null && document.readyState === 'complete'");
  t.regex(String(await page.text()), /Please choose your files again\.[^]*a\.txt/);
  t.deepEqual((await findings(page))?.violations, []);
  await choose('#captcha-file-0');
  await page.value("document.querySelector('#captcha-resend button').focus()");
  await page.press('Enter');
  await page.until("document.body.innerText.startsWith('hello')");
  t.regex(String(await page.text()), /name="a"\s+1 & 2[^]*filename="a\.txt"[^]*content/);
});

browserTest('chromium: light and dark, names and contrast of all controls', async (t) => {
  const { page, url } = await busyPage('look');
  await page.open(`${url}/image?k=look`);
  await page.until("document.readyState === 'complete' && document.styleSheets.length === 1");
  for (const scheme of ['light', 'dark']) {
    await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
    for (const [element, least] of [
      ['p', 4.5],
      ['h1', 4.5],
      ['.hint', 4.5],
      ['label', 4.5],
      ['button', 4.5],
    ] as const)
      t.true(Number(await page.value(contrast(element))) >= least, `${scheme} ${element}`);
  }
  await page.send('Emulation.setDeviceMetricsOverride', { width: 320, height: 600, deviceScaleFactor: 1, mobile: true });
  t.true(await page.value('document.documentElement.scrollWidth <= 320'), 'no second scroll bar');
  const { nodes } = (await page.send('Accessibility.getFullAXTree')) as { nodes: { role?: { value: string }; name?: { value: string } }[] };
  const named = (role: string): string | undefined => nodes.find((node) => node.role?.value === role)?.name?.value;
  t.regex(named('image') ?? '', /six letters and digits/);
  t.regex(named('textbox') ?? '', /Letters and digits in the picture/);
  t.is(named('button'), 'Continue');
  t.regex(named('heading') ?? '', /you are a person/);
});

interface Findings {
  /** Rules that the page follows. */
  readonly passes: number;
  readonly violations: readonly string[];
}

/** Findings of axe-core in a page by its rules for WCAG 2.2 AA. */
async function findings(page: Page): Promise<Findings | undefined> {
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  await page.send('Runtime.evaluate', { expression: readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8') });
  const expression = `axe.run(document, { runOnly: ${JSON.stringify(tags)} }).then(({ violations, passes }) =>
    ({ passes: passes.length, violations: violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' ')) }))`;
  const { result } = await page.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
  return (result as { value?: Findings }).value;
}

browserTest('chromium: axe-core finds nothing in any state of the page', async (t) => {
  const { page, url } = await busyPage('axe');
  await page.send('Page.addScriptToEvaluateOnNewDocument', { source: 'Worker.prototype.postMessage = () => {}' });
  const check = async (name: string): Promise<void> => {
    for (const scheme of ['light', 'dark']) {
      await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
      const { passes, violations } = (await findings(page))!;
      t.deepEqual(violations, [], `${name}, ${scheme}`);
      t.true(passes > 10, `${name}: axe-core has checked it`);
    }
  };
  await page.open(`${url}/pow?k=axe`);
  await page.until("document.readyState === 'complete' && document.getElementById('captcha-work')?.hidden === false");
  await check('work');
  await page.open(`${url}/image?k=axe`);
  await page.until("document.readyState === 'complete' && document.querySelector('img')?.complete === true");
  await check('a picture');
  await page.tabTo('captcha-solution');
  await page.type('wrong');
  await page.press('Enter');
  await page.until("document.readyState === 'complete' && document.querySelector('[role=alert]') !== null");
  await check('a wrong solution');
});

/** Contrast of the text of an element with what is below it (WCAG 2.2, 1.4.3). */
function contrast(element: string): string {
  return `(() => {
    const parse = (color) => color.match(/[\\d.]+/g).map(Number);
    const luminance = (color) => parse(color).slice(0, 3).map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
      .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
    const shown = document.querySelector('${element}');
    let ground = shown;
    while (parse(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
    const [one, other] = [getComputedStyle(shown).color, getComputedStyle(ground).backgroundColor].map(luminance).sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05);
  })()`;
}
