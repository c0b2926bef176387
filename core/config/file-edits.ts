/** Carries changes of the tree out in the text of the files it was read from: what does not change keeps its comments and its layout. */
import type { Directive, Source } from '../contract/tree.js';
import { exactDirective, exactHead } from '../contract/print.js';
import { FileSpans, type Span } from './file-spans.js';
import { ROOT_ID, sameHead, type DirectiveData, type TreeOperation } from './operations.js';
import type { Tree } from './tree.js';

/** A change cannot be made in the text of a file. */
export class FileEditError extends Error {}

/** One replacement in the text of a file. */
interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Of the operation that it comes from: texts for one place come in this order. */
  readonly order: number;
}

interface EditedFile {
  readonly text: string;
  readonly spans: FileSpans;
  edits: TextEdit[];
}

/** A directive that goes to another place, with what changes in it. */
interface Move {
  readonly directive: Directive;
  readonly parent: number;
  readonly before: number | undefined;
  readonly order: number;
}

const INDENT = '    ';

export interface EditedTree {
  /** As it was read from the files. */
  readonly tree: Tree;
  /** Path of the file that the main level is in. */
  readonly main: string;
  readonly read: (path: string) => string;
}

/** A file as it should be. */
export interface EditedText {
  readonly text: string;
  /** Its lines that come and go: `- server a;`, `+ server b;`. */
  readonly diff: readonly string[];
}

/**
 * The files after the operations, by path; only the ones that change.
 * @param operations from {@link diffTrees}
 * @throws FileEditError where the text is used at several places, or is not of a file
 */
export function editFiles(operations: readonly TreeOperation[], edited: EditedTree): ReadonlyMap<string, EditedText> {
  const run = new FileEdits(edited);
  for (const operation of operations) run.apply(operation);
  return run.texts();
}

class FileEdits {
  readonly #files = new Map<string, EditedFile>();
  readonly #moves: Move[] = [];
  #order = 0;
  /** How many directives begin at a place: more than one where a file is included more than once. */
  readonly #uses = new Map<string, number>();

  constructor(private readonly edited: EditedTree) {
    this.#count(edited.tree.root);
  }

  texts(): ReadonlyMap<string, EditedText> {
    const size = ({ directive }: Move): number => this.#place(directive).span.end - this.#place(directive).span.start;
    // First the content of one that is moved itself.
    for (const move of this.#moves.toSorted((a, b) => size(a) - size(b))) this.#move(move);
    const changed = [...this.#files].filter(([, { edits }]) => edits.length > 0);
    return new Map(changed.map(([path, file]) => [path, applied(file)]));
  }

  apply(operation: TreeOperation): void {
    if (operation.op === 'root') throw new Error('files cannot be replaced as a whole');
    this.#order++;
    if (operation.op === 'add') this.#add(operation.parent, operation.before, (indent) => exactDirective(operation.directive, indent));
    else if (operation.op === 'remove') this.#remove(this.#directive(operation.id));
    else if (operation.op === 'replace') this.#replace(this.#directive(operation.directive.id), operation.directive);
    else {
      const directive = this.#directive(operation.id);
      this.#moves.push({
        directive,
        parent: this.edited.tree.parentOf(directive.id)?.id ?? ROOT_ID,
        before: operation.before,
        order: this.#order,
      });
    }
  }

  #move({ directive, parent, before, order }: Move): void {
    this.#order = order;
    const { file, span } = this.#place(directive);
    // A text that is put in, without another one going, may be in front of the directive or after it.
    const isInside = ({ start, end }: TextEdit): boolean =>
      start === end ? start > span.start && end < span.end : start >= span.start && end <= span.end;
    const inside = file.edits.filter(isInside);
    file.edits = file.edits.filter((edit) => !inside.includes(edit));
    const text = replaced(file.text, sorted(inside), span.start, span.end);
    this.#remove(directive);
    this.#add(parent, before, (indent) => `${indent}${text}\n`);
  }

  #add(parent: number, before: number | undefined, print: (indent: string) => string): void {
    if (before !== undefined) {
      const { file, span } = this.#place(this.#directive(before));
      const line = startOfLine(file.text, span.start);
      const indent = file.text.slice(line, span.start);
      // With something else in front of it on its line, the new one goes between the two.
      if (indent.trim() === '') this.#edit(file, { start: line, end: line, text: withEnds(print(indent), file.text) });
      else this.#edit(file, { start: span.start, end: span.start, text: `${print('').trim()} ` });
      return;
    }
    if (parent === ROOT_ID) this.#addToMain(print(''));
    else this.#addToBlock(this.#directive(parent), print);
  }

  #addToMain(text: string): void {
    const file = this.#file(this.edited.main);
    const { length } = file.text;
    const gap = length === 0 || file.text.endsWith('\n') ? '' : '\n';
    this.#edit(file, { start: length, end: length, text: withEnds(gap + text, file.text) });
  }

  #addToBlock(parent: Directive, print: (indent: string) => string): void {
    const { file, span } = this.#place(parent);
    if (span.block === undefined) throw new FileEditError(`"${parent.name}" has no block`);
    const { start, end } = span.block;
    const line = startOfLine(file.text, end);
    const outer = indentAt(file.text, span.start);
    const indent = indentInside(file, parent) ?? outer + INDENT;
    // The closing brace has a line of its own, as a rule.
    if (line > start && file.text.slice(line, end).trim() === '')
      this.#edit(file, { start: line, end: line, text: withEnds(print(indent), file.text) });
    else this.#edit(file, { start: end, end, text: withEnds(`\n${print(indent)}${outer}`, file.text) });
  }

  #remove(directive: Directive): void {
    const { file, span } = this.#place(directive);
    const { text } = file;
    const line = startOfLine(text, span.start);
    const next = endOfLine(text, span.end);
    // A comment after it on its line is about it.
    const isAlone = text.slice(line, span.start).trim() === '' && /^\s*(?:#.*)?$/.test(text.slice(span.end, next).trimEnd());
    this.#edit(file, isAlone ? { start: line, end: next, text: '' } : { start: span.start, end: span.end, text: '' });
  }

  #replace(old: Directive, now: DirectiveData): void {
    const { file, span } = this.#place(old);
    const indent = indentAt(file.text, span.start);
    if (old.block === undefined || now.block === undefined || !sameBlocks(old, now)) {
      const text = exactDirective(now, indent).trimStart().trimEnd();
      this.#edit(file, { start: span.start, end: span.end, text: withEnds(text, file.text) });
    } else this.#edit(file, { start: span.start, end: (span.block?.start ?? span.end) - 1, text: `${exactHead(now)} ` });
  }

  #edit(file: EditedFile, edit: Omit<TextEdit, 'order'>): void {
    file.edits.push({ ...edit, order: this.#order });
  }

  #directive(id: number): Directive {
    const directive = this.edited.tree.byId(id);
    if (directive === undefined) throw new Error(`directive ${id} is not in the files`);
    return directive;
  }

  /** @throws FileEditError */
  #place({ name, source }: Directive): { readonly file: EditedFile; readonly span: Span } {
    const file = this.#file(source.file);
    const span = file.spans.at(source);
    if (span === undefined) throw new FileEditError(`"${name}" is not in a file`);
    if ((this.#uses.get(placeOf(source)) ?? 0) > 1)
      throw new FileEditError(`"${name}" is in a file that is included more than once: a change of it would be one everywhere`);
    return { file, span };
  }

  /** @throws FileEditError */
  #file(path: string): EditedFile {
    const known = this.#files.get(path);
    if (known !== undefined) return known;
    const text = this.edited.read(path);
    const file = { text, spans: new FileSpans(text), edits: [] };
    this.#files.set(path, file);
    return file;
  }

  #count(directives: Iterable<Directive>): void {
    for (const { source, block } of directives) {
      const place = placeOf(source);
      this.#uses.set(place, (this.#uses.get(place) ?? 0) + 1);
      if (block !== undefined) this.#count(block);
    }
  }
}

const placeOf = ({ file, line, column }: Source): string => `${line}:${column}:${file}`;

function applied({ text, edits }: EditedFile): EditedText {
  const all = sorted(edits);
  for (const [at, edit] of all.entries())
    if (edit.start < (all[at - 1]?.end ?? 0)) throw new FileEditError('two changes are about the same text');
  return { text: replaced(text, all, 0, text.length), diff: hunks(text, all).flatMap((hunk) => hunkLines(text, hunk)) };
}

/** In the order of the text. */
function sorted(edits: readonly TextEdit[]): readonly TextEdit[] {
  return edits.toSorted((a, b) => a.start - b.start || a.end - b.end || a.order - b.order);
}

/** A part of the text with the edits in it. */
function replaced(text: string, edits: readonly TextEdit[], from: number, to: number): string {
  let [result, at] = ['', from];
  for (const edit of edits) {
    result += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + text.slice(at, to);
}

/** Whole lines, and the edits in them. */
interface Hunk {
  readonly start: number;
  end: number;
  readonly edits: TextEdit[];
}

function hunks(text: string, edits: readonly TextEdit[]): Hunk[] {
  const found: Hunk[] = [];
  for (const edit of edits) {
    const start = startOfLine(text, edit.start);
    const isWhole = edit.start === start && edit.end === startOfLine(text, edit.end);
    const end = isWhole ? edit.end : endOfLine(text, edit.end);
    const last = found.at(-1);
    if (last === undefined || start >= last.end) found.push({ start, end, edits: [edit] });
    else {
      last.edits.push(edit);
      last.end = Math.max(last.end, end);
    }
  }
  return found;
}

function hunkLines(text: string, { start, end, edits }: Hunk): string[] {
  return [...signed('-', text.slice(start, end)), ...signed('+', replaced(text, edits, start, end))];
}

function signed(sign: '-' | '+', text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => `${sign} ${line}`);
}

/** Lines end as those of the file do. */
function withEnds(text: string, of: string): string {
  return of.includes('\r\n') ? text.replaceAll('\n', '\r\n') : text;
}

const startOfLine = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;

/** After the line end; the end of the text if there is none. */
function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end + 1;
}

function indentAt(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(startOfLine(text, at), at))?.[0] ?? '';
}

/** Of the last directive in a block that begins its line. */
function indentInside({ text, spans }: EditedFile, { block, source }: Directive): string | undefined {
  let indent: string | undefined;
  for (const child of block ?? []) {
    const span = child.source.file === source.file ? spans.at(child.source) : undefined;
    const before = span && text.slice(startOfLine(text, span.start), span.start);
    if (before?.trim() === '') indent = before;
  }
  return indent;
}

/** True if only the words in front of the blocks differ. */
function sameBlocks(old: Directive, now: DirectiveData): boolean {
  const [before, after] = [[...(old.block ?? [])], now.block ?? []];
  return before.length === after.length && before.every((child, at) => isSame(child, after[at]));
}

function isSame(old: Directive, now: DirectiveData | undefined): boolean {
  if (now === undefined || !sameHead(old, now) || (old.block === undefined) !== (now.block === undefined)) return false;
  return sameBlocks(old, now);
}
