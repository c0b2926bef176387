/** Files that the page loads: all are of this server, so that `default-src 'self'` allows them. */
import { hash } from 'node:crypto';

/** Path of all that this module responds to by itself. */
export const PREFIX = '/.srv/captcha/';

/** A file as it is sent. */
export interface Asset {
  readonly type: string;
  readonly body: string;
  readonly etag: string;
}

const STYLE = `:root {
  color-scheme: light dark;
  --ground: #f4f5f7; --paper: #fff; --text: #1c2026; --soft: #4d5561; --line: #6b7380; --accent: #0b57b8; --on-accent: #fff; --error: #a4161a;
}
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171b; --paper: #1e2228; --text: #eceff3; --soft: #b4bcc8; --line: #8a93a1; --accent: #8ab8ff; --on-accent: #0a1626; --error: #ff9a9a; }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 1rem; background: var(--ground); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 32rem; margin: 8vh auto 0; padding: 1.5rem; background: var(--paper); border-radius: .5rem; }
h1 { margin: 0 0 .75rem; font-size: 1.375rem; line-height: 1.3; }
p { margin: 0 0 1rem; }
.hint { color: var(--soft); font-size: .9375rem; }
.error { color: var(--error); font-weight: 600; }
img { display: block; max-width: 100%; height: auto; background: #fff; border-radius: .25rem; }
audio { display: block; width: 100%; max-width: 20rem; }
label { display: block; margin-bottom: .25rem; font-weight: 600; }
input[type=text] { width: 100%; max-width: 20rem; min-height: 2.75rem; padding: .25rem .75rem; font: inherit; font-size: 1.25rem; letter-spacing: .1em; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: .25rem; }
button, .button { display: inline-block; min-height: 2.75rem; margin-top: 1rem; padding: .5rem 1.25rem; font: inherit; font-weight: 600; color: var(--on-accent); background: var(--accent); border: 2px solid transparent; border-radius: .25rem; cursor: pointer; }
button.second { color: var(--accent); background: transparent; border-color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
progress { width: 100%; height: .75rem; accent-color: var(--accent); }
[hidden] { display: none; }
`;

const PAGE_SCRIPT = `'use strict';
(() => {
  const send = (form) => HTMLFormElement.prototype.submit.call(form);
  const resend = document.getElementById('captcha-resend');
  if (resend) return resend.querySelector('input[type=file]:not([hidden])') ? undefined : send(resend);
  const form = document.getElementById('captcha');
  const work = document.getElementById('captcha-work');
  const reading = document.getElementById('captcha-reading');
  if (!form || !work || !window.Worker) return;
  const status = document.getElementById('captcha-status');
  const progress = document.getElementById('captcha-progress');
  const second = document.getElementById('captcha-choose');
  const read = (focus) => {
    worker.terminate();
    if (!reading) return void (status.textContent = status.dataset.failed);
    work.hidden = true;
    reading.hidden = false;
    if (focus) document.getElementById('captcha-solution').focus();
  };
  const worker = new Worker(form.dataset.worker);
  worker.onmessage = ({ data: { solved, nonces } }) => {
    progress.value = solved;
    if (!nonces) return;
    status.textContent = status.dataset.done;
    form.elements.namedItem('work').value = nonces.join('.');
    send(form);
  };
  worker.onerror = () => read(false);
  if (second) second.addEventListener('click', () => read(true));
  if (reading) reading.hidden = true;
  work.hidden = false;
  worker.postMessage({ salt: form.dataset.salt, puzzles: Number(form.dataset.puzzles), difficulty: Number(form.dataset.difficulty) });
})();
`;

const WORKER_SCRIPT = `'use strict';
/* For each puzzle the first nonce with SHA-256(salt:puzzle:nonce) below 2^32 / difficulty in its first 32 bits. All fits one block. */
const isPrime = (n) => Array.from({ length: n - 2 }, (_, i) => i + 2).every((d) => n % d);
const primes = Array.from({ length: 311 }, (_, i) => i + 2).filter(isPrime);
const bits = (x) => (x - Math.floor(x)) * 2 ** 32 | 0;
const K = Int32Array.from(primes, (p) => bits(Math.cbrt(p)));
const H = Int32Array.from(primes.slice(0, 8), (p) => bits(Math.sqrt(p)));
const W = new Int32Array(64);
const block = new Uint8Array(64);
const view = new DataView(block.buffer);
const rotate = (x, n) => (x >>> n) | (x << (32 - n));

function first(length) {
  block.fill(0, length);
  block[length] = 128;
  view.setUint32(60, length * 8);
  for (let t = 0; t < 16; t++) W[t] = view.getInt32(t * 4);
  for (let t = 16; t < 64; t++) {
    const x = W[t - 15], y = W[t - 2];
    W[t] = (rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3)) + (rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10)) + W[t - 7] + W[t - 16];
  }
  let a = H[0], b = H[1], c = H[2], d = H[3], e = H[4], f = H[5], g = H[6], h = H[7];
  for (let t = 0; t < 64; t++) {
    const s = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + K[t] + W[t]) | 0;
    const u = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g; g = f; f = e; e = (d + s) | 0; d = c; c = b; b = a; a = (s + u) | 0;
  }
  return (H[0] + a) >>> 0;
}

const put = (text, at) => {
  for (let i = 0; i < text.length; i++) block[at + i] = text.charCodeAt(i);
  return at + text.length;
};

onmessage = ({ data: { salt, puzzles, difficulty } }) => {
  const bound = 2 ** 32 / difficulty;
  const nonces = [];
  while (nonces.length < puzzles) {
    const start = put(salt + ':' + nonces.length + ':', 0);
    let nonce = 0;
    while (first(put(String(nonce), start)) >= bound) nonce++;
    nonces.push(nonce);
    postMessage({ solved: nonces.length, nonces: nonces.length === puzzles ? nonces : undefined });
  }
};
`;

function asset(type: string, body: string): Asset {
  return { type, body, etag: `"${hash('sha256', body, 'base64url').slice(0, 16)}"` };
}

/** By the end of their paths. */
export const ASSETS: ReadonlyMap<string, Asset> = new Map([
  ['style.css', asset('text/css; charset=utf-8', STYLE)],
  ['page.js', asset('text/javascript; charset=utf-8', PAGE_SCRIPT)],
  ['worker.js', asset('text/javascript; charset=utf-8', WORKER_SCRIPT)],
]);
