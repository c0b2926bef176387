/**
 * The reference of all directives, made from their specs.
 *
 *     node dist/tools/docs/directives.js            prints it
 *     node dist/tools/docs/directives.js --write    writes docs/directives.md
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findInstallation } from '../../core/kernel/installation.js';
import { allModules } from './all-modules.js';
import { directivesPage } from './directives-page.js';

const page = directivesPage(await allModules());
if (process.argv.includes('--write')) writeFileSync(join(findInstallation().root, 'docs/directives.md'), page);
else process.stdout.write(page);
