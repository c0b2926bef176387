import type { Challenge } from './challenges.js';
import { PREFIX } from './assets.js';
import { fieldsOf, type Original } from './original-request.js';
import { fillPage, type PageTemplate } from './page-template.js';
import { PICTURE } from './picture.js';
import type { TextName, Texts } from './texts.js';
import { PUZZLES } from './work.js';

/** How a page of one language is made. */
export interface PageStyle {
  readonly template: PageTemplate;
  readonly language: string;
  readonly texts: Texts;
  readonly hasSounds: boolean;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '\r': '&#13;',
  '\n': '&#10;',
};

const escape = (text: string): string => text.replaceAll(/[&<>"'\r\n]/g, (character) => ENTITIES[character]!);

/** @param error why the client gets it, after a wrong solution */
export function challengePage(style: PageStyle, challenge: Challenge, original: Original, error?: TextName): string {
  const { texts } = style;
  const { token, mode, salt, difficulty } = challenge;
  // After a wrong picture the client stays with pictures.
  const isWorked = mode === 'pow' || (mode === 'auto' && (error === undefined || error === 'wait' || error === 'harder'));
  const attributes = !isWorked
    ? ''
    : ` data-worker="${PREFIX}worker.js" data-salt="${salt}" data-puzzles="${PUZZLES}" data-difficulty="${difficulty}"`;
  const parts = [
    error === undefined ? '' : `<p class="error" role="alert" id="captcha-error">${escape(texts[error])}</p>`,
    original.isCut ? `<p class="error" id="captcha-lost">${escape(texts.not_kept)}</p>` : '',
    `<form id="captcha" method="post" action="${PREFIX}solution"${attributes}>`,
    hidden('token', token) +
      hidden('uri', original.uri) +
      formFields(original) +
      (original.isCut ? hidden('lost', '1') : '') +
      (isWorked ? hidden('work', '') : ''),
    isWorked ? working(texts, mode === 'auto') : '',
    mode === 'pow' ? `<noscript><p class="error">${escape(texts.no_script)}</p></noscript>` : reading(style, token, error !== undefined),
    '</form>',
    original.enctype === undefined ? '' : `<p class="hint">${escape(texts.kept)}</p>`,
    hasFiles(original) ? `<p class="hint">${escape(texts.files)}</p>` : '',
  ];
  return fill(style, texts.title, texts.reason, parts);
}

/** Leads back to the page: the challenge is over. */
export function gonePage(style: PageStyle, uri: string): string {
  const { texts } = style;
  return fill(style, texts.title, '', [
    `<p class="error" role="alert">${escape(texts.gone)}</p>`,
    `<p><a href="${escape(uri)}">${escape(texts.again)}</a></p>`,
  ]);
}

/** Sends a form once more, when its files are chosen again. */
export function resendPage(style: PageStyle, original: Original): string {
  const { texts } = style;
  const { uri, form, files, enctype } = original;
  return fill(style, hasFiles(original) ? texts.choose_files : texts.resend, '', [
    `<form id="captcha-resend" method="post" action="${escape(uri)}" enctype="${enctype}" accept-charset="utf-8">`,
    ...fieldsOf(form).map(([name, value]) => hidden(name, value)),
    ...fieldsOf(files).map(([name, file], at) => fileInput(name, file, `captcha-file-${at}`)),
    `<button type="submit">${escape(texts.send)}</button></form>`,
  ]);
}

function working(texts: Texts, hasChoice: boolean): string {
  const status = `id="captcha-status" role="status" data-done="${escape(texts.done)}" data-failed="${escape(texts.no_script)}"`;
  const bar = `<progress id="captcha-progress" max="${PUZZLES}" value="0" aria-labelledby="captcha-status"></progress>`;
  const choice = hasChoice ? `<p><button type="button" class="second" id="captcha-choose">${escape(texts.choose)}</button></p>` : '';
  return `<div id="captcha-work" hidden><p ${status}>${escape(texts.working)}</p>${bar}${choice}</div>`;
}

function reading({ texts, hasSounds }: PageStyle, token: string, isWrong: boolean): string {
  const invalid = isWrong ? ' aria-invalid="true" autofocus' : '';
  const described = `aria-describedby="captcha-hint${isWrong ? ' captcha-error' : ''}"`;
  const input = `id="captcha-solution" name="solution" type="text" required maxlength="40" autocomplete="off" autocapitalize="none" autocorrect="off" spellcheck="false"`;
  return [
    '<div id="captcha-reading">',
    `<p><img loading="lazy" src="${PREFIX}picture/${token}" width="${PICTURE.width}" height="${PICTURE.height}" alt="${escape(texts.picture)}"></p>`,
    hasSounds ? sounds(texts, token) : '',
    `<label for="captcha-solution">${escape(hasSounds ? texts.label_sound : texts.label)}</label>`,
    `<input ${input} ${described}${invalid}>`,
    `<p class="hint" id="captcha-hint">${escape(texts.hint)}</p>`,
    `<button type="submit">${escape(texts.go)}</button></div>`,
  ].join('\n');
}

function sounds(texts: Texts, token: string): string {
  const label = `aria-label="${escape(texts.sound)}" aria-describedby="captcha-sound-hint"`;
  return `<p class="hint" id="captcha-sound-hint">${escape(texts.sound_hint)}</p>
<p><audio controls preload="none" src="${PREFIX}sound/${token}" ${label}></audio></p>`;
}

function formFields({ enctype, form, files }: Original): string {
  if (enctype === undefined) return '';
  return hidden('enctype', enctype) + hidden('form', form) + (files === '' ? '' : hidden('files', files));
}

/** True if files of the form are lost. Fields without a file are sent again as they were. */
const hasFiles = ({ files }: Original): boolean => fieldsOf(files).some(([, file]) => file !== '');

function fileInput(name: string, file: string, id: string): string {
  const input = `type="file" id="${id}" name="${escape(name)}"`;
  return file === '' ? `<input ${input} hidden>` : `<p><label for="${id}">${escape(file)}</label><input ${input}></p>`;
}

function hidden(name: string, value: string): string {
  return `<input type="hidden" name="${escape(name)}" value="${escape(value)}">`;
}

function fill({ template, language }: PageStyle, title: string, reason: string, parts: readonly string[]): string {
  const challenge = parts.filter((part) => part !== '').join('\n');
  return fillPage(template, { lang: language, title: escape(title), reason: escape(reason), challenge, assets: PREFIX });
}
