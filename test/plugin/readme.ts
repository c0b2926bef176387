/** The README of the plugin template, as the tests follow it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findInstallation } from '../../core/kernel/installation.js';

export const ROOT = findInstallation().root;
export const TEMPLATE = join(ROOT, 'plugin-template');

/** The indented blocks below a heading, in order, without their indentation. */
export function codeBlocks(heading: string): readonly string[] {
  const readme = readFileSync(join(TEMPLATE, 'README.md'), 'utf8');
  const [, section] = readme.split(`\n## ${heading}\n`);
  if (section === undefined) throw new Error(`the README has no heading "${heading}"`);
  const [text = ''] = section.split('\n## ');
  return [...text.matchAll(/(?:^(?: {4,}.*)?\n)+/gm)].map(([block]) => unindented(block)).filter((block) => block !== '');
}

function unindented(block: string): string {
  const lines = block.split('\n');
  const depth = Math.min(...lines.filter((line) => line !== '').map((line) => line.search(/\S/)));
  return lines
    .map((line) => line.slice(depth))
    .join('\n')
    .trim();
}
