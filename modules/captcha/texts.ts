import type { InputFile } from '../../core/contract/resource.js';

const ENGLISH = {
  title: 'Please confirm that you are a person',
  reason: 'We have received many requests from your network. Solve this once, and you can go on.',
  picture: 'A picture with six letters and digits',
  label: 'Letters and digits in the picture',
  label_sound: 'Letters and digits in the picture, or the numbers that you hear',
  hint: 'Capital letters make no difference.',
  sound: 'Groups of short tones',
  sound_hint:
    'You cannot see the picture? Listen: count the rising tones of each group, and ignore the ones that fall or stay. Enter the numbers one after the other.',
  go: 'Continue',
  working: 'Your browser is checking the connection. This takes a few seconds.',
  done: 'Done. The page opens now.',
  choose: 'Use a picture instead',
  no_script: 'Please switch on JavaScript for this page, and load it again.',
  wrong: 'That was not right. Please try again.',
  wait: 'Too many attempts from your network. Please wait a minute, and try again.',
  renewed: 'That was not right. Here is a new task.',
  harder: 'Many more requests have come from your network meanwhile. This takes a little longer.',
  gone: 'This task has expired, was solved already, or belongs to another page. Please open the page again.',
  again: 'Open the page again',
  kept: 'Your form is kept, and sent as soon as you have solved this.',
  files: 'Files are not kept. You can choose them again before your form is sent.',
  not_kept:
    'Your data cannot be kept: it is larger than 64 KB, or in a format that this page cannot send again. When you have solved this, go back to your form in your browser, and send it again.',
  resend: 'Thank you. Your form is sent now.',
  choose_files: 'Thank you. Please choose your files again.',
  send: 'Send it',
};

/** A text of the page. */
export type TextName = keyof typeof ENGLISH;
export type Texts = Readonly<Record<TextName, string>>;
/** By language in lower case, as in `zh` and `zh-tw`. */
export type Languages = ReadonlyMap<string, Texts>;

const CHINESE: Texts = {
  title: '请确认您不是机器人',
  reason: '我们收到了来自您所在网络的大量请求。完成一次验证后即可继续访问。',
  picture: '包含六个字母和数字的图片',
  label: '图片中的字母和数字',
  label_sound: '图片中的字母和数字，或您听到的数字',
  hint: '不区分大小写。',
  sound: '若干组短音',
  sound_hint: '看不到图片？请听声音：数出每组短音中升调音的个数，忽略降调音和平调音，然后依次输入这些数字。',
  go: '继续',
  working: '您的浏览器正在检查连接，需要几秒钟。',
  done: '已完成，页面即将打开。',
  choose: '改用图片验证',
  no_script: '请为此页面启用 JavaScript，然后重新加载。',
  wrong: '答案不正确，请重试。',
  wait: '您所在网络的尝试次数过多，请等待一分钟后重试。',
  renewed: '答案不正确。这是一个新的问题。',
  harder: '您所在的网络刚刚发送了更多请求，因此验证还需要一点时间。',
  gone: '此问题已过期、已被回答，或属于另一个页面。请重新打开页面。',
  again: '重新打开页面',
  kept: '您在表单中输入的内容已保留，验证完成后将会发送。',
  files: '文件不会保留。您可以在发送之前重新选择文件。',
  not_kept: '您发送的内容无法保留：超过 64 KB，或其格式无法由此页面重新发送。验证完成后，请在浏览器中返回您的表单并重新发送。',
  resend: '谢谢。您输入的内容正在发送。',
  choose_files: '谢谢。请重新选择您的文件。',
  send: '发送',
};

export const SHIPPED: Languages = new Map([
  ['en', ENGLISH],
  ['zh', CHINESE],
]);

/** `{"fr": {"title": "…"}}`: further languages, and other words for the shipped languages. Missing texts are English. */
export function parseTexts(file: InputFile): Languages {
  const languages = new Map(SHIPPED);
  for (const [language, texts] of Object.entries(parseJson(file))) {
    const name = language.toLowerCase();
    if (!/^[a-z]{2,8}(?:-[a-z0-9]{1,8})*$/.test(name)) file.fail(1, `invalid language "${language}"`, 'as in Accept-Language: fr, pt-BR');
    if (!isObject(texts)) return file.fail(1, `the texts of "${language}" must be an object`);
    for (const [key, text] of Object.entries(texts)) {
      if (!(key in ENGLISH)) file.fail(1, `unknown text "${key}" of "${language}"`, `one of: ${Object.keys(ENGLISH).join(', ')}`);
      if (typeof text !== 'string') file.fail(1, `text "${key}" of "${language}" must be a string`);
    }
    languages.set(name, { ...(languages.get(name) ?? ENGLISH), ...(texts as Partial<Texts>) });
  }
  return languages;
}

function parseJson(file: InputFile): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(file.text);
  } catch (error) {
    return file.fail(1, `invalid JSON: ${(error as Error).message}`);
  }
  return isObject(value) ? value : file.fail(1, 'must be an object of languages');
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The language that a client prefers among the available ones (RFC 9110, 12.5.4); English if there is none. */
export function chooseLanguage(accepted: string | undefined, languages: Languages): string {
  let [best, quality] = ['en', 0];
  for (const range of (accepted ?? '').slice(0, 500).toLowerCase().split(',')) {
    const [, tag = '', weight = '1'] = /^\s*([a-z0-9-]+)\s*(?:;\s*q=([01](?:\.\d{0,3})?))?\s*$/.exec(range) ?? [];
    const found = [tag, tag.split('-', 1)[0]!].find((name) => languages.has(name));
    if (found === undefined || Number(weight) <= quality) continue;
    [best, quality] = [found, Number(weight)];
  }
  return best;
}
