/**
 * The text of a state file. Its first line has the version of the configuration it was written from, and a digest of the other lines: an
 * edit since, and changes of the API since, are known from the file alone.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { exactDirective } from '../contract/print.js';
import type { Block } from '../contract/tree.js';
import { fileMark } from './replace-file.js';
import type { FileMarks } from './state-files.js';
import type { FileVersion } from './state-tables.js';

/** Directives printed in one turn of the event loop. */
const BATCH = 2000;

export interface StateFileContent {
  /** The file, with its first line; empty if there is no file. */
  readonly text: string;
  readonly exists: boolean;
  /** Of everything but the line that says it; empty if there is no file. */
  readonly digest: string;
  /** Content of the first line, if srv wrote it. */
  readonly header: FileVersion | undefined;
}

const HEADER = /^# Written by srv from version (\d+), digest ([0-9a-f]{16})\. An edit takes effect at the next reload\.\n/;

const headerLine = ({ version, digest }: FileVersion): string =>
  `# Written by srv from version ${version}, digest ${digest}. An edit takes effect at the next reload.\n`;

/**
 * Reads a state file. One that does not exist is an empty one.
 * @param marks gets the mark of what was read
 * @throws Error of the system when it cannot be read
 */
export function readStateFile(path: string, marks: FileMarks): StateFileContent {
  marks.set(path, fileMark(path));
  const text = textOf(path);
  const found = HEADER.exec(text ?? '');
  const [line = '', version, digest] = found ?? [];
  return {
    text: text ?? '',
    exists: text !== undefined,
    digest: text === undefined ? '' : digestOf(text.slice(line.length)),
    header: version === undefined || digest === undefined ? undefined : { version: Number(version), digest },
  };
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The whole file for the directives called `holds` of a block. Other work of this thread goes on while it is made. */
export async function printStateFile(block: Block, holds: string, version: number): Promise<FileVersion & { readonly text: string }> {
  const parts: string[] = [];
  for (const directive of block.named(holds)) {
    parts.push(exactDirective(directive));
    if (parts.length % BATCH === 0) await turn();
  }
  const body = parts.join('');
  const written = { version, digest: digestOf(body) };
  return { ...written, text: headerLine(written) + body };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
