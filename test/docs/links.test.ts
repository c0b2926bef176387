import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'ava';
import { readRoot, ROOT } from './source-files.js';

const PAGES = [
  ...readdirSync(ROOT).filter((file) => file.endsWith('.md')),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
  'plugin-template/README.md',
];

/** The anchors of a page's headings, as GitHub makes them. */
function anchors(page: string): readonly string[] {
  const headings = [...readRoot(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

function isDead(page: string, link: string): boolean {
  if (/^https?:/.test(link)) return false;
  const [file = '', anchor] = link.split('#', 2);
  const target = file === '' ? page : join(dirname(page), file);
  return !existsSync(join(ROOT, target)) || (anchor !== undefined && !anchors(target).includes(anchor));
}

for (const page of PAGES) {
  test(`the links of ${page} lead somewhere`, (t) => {
    const links = [...readRoot(page).matchAll(/\]\((?<link>[^)\s]+)\)/g)].map(({ groups }) => groups?.['link'] ?? '');
    t.deepEqual(
      links.filter((link) => isDead(page, link)),
      [],
    );
  });
}
