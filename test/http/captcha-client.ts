/** A client of a server with `captcha`: gets challenges, and solves them as browsers and people do. */
import { hash } from 'node:crypto';
import { request } from 'node:http';
import type { OutgoingHttpHeaders } from 'node:http';
import { pictureText, soundCounts, unseal } from '../../modules/captcha/sealed-challenge.js';
import { get, type HttpResponse, type RequestOptions } from '../harness/client.js';

export const PAGE: OutgoingHttpHeaders = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
export const SOLUTION = '/.srv/captcha/solution';

/** The JSON of a challenge. */
export interface JsonChallenge {
  readonly token: string;
  readonly mode: string;
  readonly picture?: string;
  readonly sound?: string;
  readonly work?: { readonly salt: string; readonly puzzles: number; readonly difficulty: number };
  readonly solution: string;
}

/** Requests until one is challenged. @returns that response */
export async function challenged(port: number, path: string, options: RequestOptions = {}): Promise<HttpResponse> {
  for (let count = 0; count < 50; count++) {
    const response = await get(port, path, options);
    if (response.status === 429) return response;
  }
  throw new Error(`no challenge for ${path}`);
}

export async function jsonChallenge(port: number, path: string): Promise<JsonChallenge> {
  return (JSON.parse((await challenged(port, path)).body) as { challenge: JsonChallenge }).challenge;
}

/** Posts the fields of a form. */
export function post(
  port: number,
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: OutgoingHttpHeaders = {},
): Promise<HttpResponse> {
  const body = new URLSearchParams(fields).toString();
  return get(port, path, { method: 'POST', body, headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers } });
}

/** The fields of the form of a page, which browsers send with what is entered. */
export function fieldsOf(page: string): Record<string, string> {
  const inputs = page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  return Object.fromEntries(Array.from(inputs, ([, name = '', value = '']) => [unescape(name), unescape(value)]));
}

/** The work of a page or of a JSON challenge. */
export function workOf(page: string): NonNullable<JsonChallenge['work']> {
  const [, salt = '', puzzles, difficulty] = /data-salt="([^"]+)" data-puzzles="(\d+)" data-difficulty="(\d+)"/.exec(page) ?? [];
  return { salt, puzzles: Number(puzzles), difficulty: Number(difficulty) };
}

export function solve({ salt, puzzles, difficulty }: NonNullable<JsonChallenge['work']>): string {
  const nonces = Array.from({ length: puzzles }, (_, puzzle) => {
    for (let nonce = 0; ; nonce++) {
      // In one call, and as text: a fifth of the time that a hash object and a buffer take.
      const digest = hash('sha256', `${salt}:${puzzle}:${nonce}`);
      if (Number.parseInt(digest.slice(0, 8), 16) < 2 ** 32 / difficulty) return nonce;
    }
  });
  return nonces.join('.');
}

/** Secret of the tests, by which they know solutions. */
export const SECRET = 'a secret of the tests, 1';

/** Gets a sound or a picture, and has its solution, as a person would. */
export async function perceive(port: number, path: string): Promise<string> {
  const type = (await bytesOf(port, path)).toString('latin1', 0, 4);
  const claims = unseal(path.split('/').at(-1)!, [SECRET])!;
  return type === 'RIFF' ? soundCounts(claims).split('').join(' ') : pictureText(claims);
}

export function bytesOf(port: number, path: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, path, host: '127.0.0.1', agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.once('end', () => resolve(Buffer.concat(pieces)));
    });
    sent.once('error', reject);
    sent.end();
  });
}

/** The cookie that a response sets, as a browser sends it. */
export function cookieOf({ headers }: HttpResponse): string {
  return headers['set-cookie']?.[0]?.split(';')[0] ?? '';
}

const unescape = (text: string): string =>
  text.replaceAll(/&(?:#(\d+)|(\w+));/g, (_, code: string | undefined, name: string) =>
    code === undefined ? ({ amp: '&', lt: '<', gt: '>', quot: '"' } as Record<string, string>)[name]! : String.fromCharCode(Number(code)),
  );

/** Solves a challenge by work. */
export async function work(port: number, { token, work: wanted }: JsonChallenge): Promise<HttpResponse> {
  return post(port, SOLUTION, { token, work: solve(wanted!) });
}

/** Solves a challenge by its picture. */
export async function look(port: number, { token, picture = '' }: JsonChallenge): Promise<HttpResponse> {
  return post(port, SOLUTION, { token, solution: await perceive(port, picture) });
}

/** Solves a challenge by its sounds. */
export async function hear(port: number, { token, sound = '' }: JsonChallenge): Promise<HttpResponse> {
  return post(port, SOLUTION, { token, solution: await perceive(port, sound) });
}

/** The highest status of more requests at once than the rate allows, all of which show a cookie. */
export async function statusWith(port: number, path: string, cookie: string): Promise<number> {
  const responses = await Promise.all(Array.from({ length: 8 }, () => get(port, path, { headers: { cookie } })));
  return Math.max(...responses.map(({ status }) => status));
}
