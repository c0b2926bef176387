/**
 * The reference of all directives, generated from their specs.
 *
 *     node dist/tools/docs/directives.js            prints it
 *     node dist/tools/docs/directives.js --write    writes docs/directives/
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findInstallation } from '../../core/kernel/installation.js';
import { allModules } from './all-modules.js';
import { directivePages } from './directive-pages.js';

const pages = directivePages(await allModules());
if (process.argv.includes('--write')) {
  const folder = join(findInstallation().root, 'docs/directives');
  // Also drops the page of a module that is gone.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [file, text] of pages) writeFileSync(join(folder, file), text);
} else for (const text of pages.values()) process.stdout.write(text);
