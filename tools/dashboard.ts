/** Builds the page of the control plane, `dashboard/`, into a folder: a script, that of its shared worker, a style, the page and its icon. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const ROOT = resolve(import.meta.dirname, '../..');
const SOURCE = join(ROOT, 'dashboard');
const COPIED = ['index.html', 'icon.svg'];
const STYLES = [join(ROOT, 'node_modules/uplot/dist/uPlot.min.css'), join(SOURCE, 'style.css')];

export async function buildDashboard(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await script(folder, { app: join(SOURCE, 'main.tsx') }, 'esm');
  await script(folder, { streams: join(SOURCE, 'streams.ts') }, 'iife');
  for (const name of COPIED) copyFileSync(join(SOURCE, name), join(folder, name));
  writeFileSync(join(folder, 'style.css'), STYLES.map(compact).join('\n'));
}

/** A script without imports: each is one file. */
async function script(folder: string, input: Readonly<Record<string, string>>, format: 'esm' | 'iife'): Promise<void> {
  const build = await rolldown({ input, platform: 'browser', transform: { target: 'es2022' } });
  await build.write({ dir: folder, format, entryFileNames: '[name].js', minify: true });
  await build.close();
}

/** Without comments and indentation. */
function compact(file: string): string {
  return readFileSync(file, 'utf8')
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .replaceAll(/\s*\n\s*/g, '\n')
    .trim();
}
