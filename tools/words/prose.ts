/**
 * The text that people read in a file. All else becomes a mark of the same length, so that a place in the result is one in the file, and
 * words on two sides of something else do not become neighbours.
 */
const MARK = '¤';
const TOKEN =
  /\/\*[^]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[^])*`|(?<=[(,=:[!&|?{};>]\s*|\breturn\s+)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/g;
/** A literal is read by people if it has words with spaces between them. */
const SENTENCE = /[A-Za-z]{2} [A-Za-z]+[ ,.:]/;

function mark(text: string): string {
  return text.replaceAll(/\S/g, MARK);
}

export interface Prose {
  readonly comments: string;
  readonly literals: string;
}

/** Of TypeScript. */
export function proseOfSource(text: string): Prose {
  let comments = '';
  let literals = '';
  let end = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const between = mark(text.slice(end, index));
    const isComment = token.startsWith('/*') || token.startsWith('//');
    const isLiteral = /^['"`]/.test(token) && SENTENCE.test(token);
    comments += between + (isComment ? commentText(token) : mark(token));
    literals += between + (isLiteral ? token.replaceAll(/\$\{[^{}]*\}/g, mark) : mark(token));
    end = index + token.length;
  }
  const tail = mark(text.slice(end));
  return { comments: comments + tail, literals: literals + tail };
}

function commentText(token: string): string {
  return token
    .replace(/^\/\//, '  ')
    .replaceAll(/^\s*\*(?!\/)/gm, (start) => start.replace('*', ' '))
    .replaceAll(/`[^`]*`|\{@link [^}]*\}/g, mark);
}

/** Of Markdown: without code and the targets of links. */
export function proseOfPage(text: string): string {
  return text
    .replaceAll(/^```[^]*?^```/gm, mark)
    .replaceAll(/^ {4}.*$/gm, mark)
    .replaceAll(/`[^`\n]*`/g, mark)
    .replaceAll(/\]\([^)]*\)/g, mark);
}
