/**
 * Writes the package `srv-module-types`: the declarations of the module contract, for authors who build a module where srv is not installed.
 *
 *     node_modules/.bin/node dist/tools/module-types.js [folder]
 *
 * The folder is `dist/srv-module-types` by default. It is emptied first.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { CONTRACT_VERSION } from '../core/kernel/contract-version.js';
import { findInstallation } from '../core/kernel/installation.js';

const README = `# srv-module-types

The types of srv's module contract, version ${CONTRACT_VERSION}: what a module imports as \`srv/module/…\` and \`srv/toolkit/…\`. There is no
code in here; at run time these imports mean the srv that loads the module. \`srv/testing/…\` is not in here: tests run a server, and need srv itself.
In tsconfig.json:

    "experimentalDecorators": true,
    "emitDecoratorMetadata": true,
    "paths": {
      "srv/module/*": ["./node_modules/srv-module-types/contract/*"],
      "srv/toolkit/*": ["./node_modules/srv-module-types/toolkit/*"]
    }

The decorators are TypeScript's older ones, and a constructor gets its services by the types of its parameters.
`;

const installation = findInstallation();
const target = resolve(process.argv[2] ?? join(installation.program, 'srv-module-types'));
/** The parts of the contract: `srv/module/…` and `srv/toolkit/…`. */
const PARTS = ['contract', 'toolkit'];
const source = join(installation.program, 'core');

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
for (const file of globSync(`{${PARTS.join(',')}}/**/*.d.ts`, { cwd: source })) {
  mkdirSync(dirname(join(target, file)), { recursive: true });
  // Imports for their effect at run time have no types.
  writeFileSync(join(target, file), readFileSync(join(source, file), 'utf8').replace(/^import 'reflect-metadata';\n/m, ''));
}
writeFileSync(join(target, 'README.md'), README);
writeFileSync(join(target, 'package.json'), `${JSON.stringify(packageFile(), null, 2)}\n`);

function packageFile(): object {
  const { dependencies, devDependencies, license } = JSON.parse(readFileSync(join(installation.root, 'package.json'), 'utf8')) as {
    readonly license: string;
    readonly dependencies: Readonly<Record<string, string>>;
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  return {
    name: 'srv-module-types',
    version: `${CONTRACT_VERSION}.0`,
    description: "Types of srv's module contract",
    license,
    type: 'module',
    exports: { './*.js': { types: './*.d.ts' } },
    dependencies: { '@types/node': devDependencies['@types/node'], typebox: dependencies['typebox'] },
  };
}
