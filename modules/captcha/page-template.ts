import type { InputFile } from '../../core/contract/resource.js';

/** Names between `{{` and `}}` in a template. */
const NAMES = ['lang', 'title', 'reason', 'challenge', 'assets'] as const;
export type PagePart = (typeof NAMES)[number];

/** Texts of a page, and at each second place the name of what comes there. */
export type PageTemplate = readonly string[];

const PLACE = /\{\{\s*(\w+)\s*\}\}/g;

/** A page with `{{challenge}}` in it, and the other parts where they are wanted. */
export function parsePage(file: InputFile): PageTemplate {
  for (const [at, line] of file.text.split('\n').entries())
    for (const [, name = ''] of line.matchAll(PLACE))
      if (!NAMES.includes(name as PagePart))
        file.fail(at + 1, `unknown part "{{${name}}}"`, `one of: ${NAMES.map((one) => `{{${one}}}`).join(', ')}`);
  const template = file.text.split(PLACE);
  if (template.filter((_, at) => at % 2 === 1).filter((name) => name === 'challenge').length !== 1)
    file.fail(1, 'a template has "{{challenge}}" once', 'the form with the challenge comes there');
  return template;
}

export function fillPage(template: PageTemplate, parts: Readonly<Record<PagePart, string>>): string {
  let page = '';
  for (let at = 0; at < template.length; at++) page += at % 2 === 0 ? template[at]! : parts[template[at] as PagePart];
  return page;
}

/** The page that is shipped. */
export const SHIPPED_PAGE: PageTemplate = `<!doctype html>
<html lang="{{lang}}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>{{title}}</title>
<link rel="stylesheet" href="{{assets}}style.css">
<script src="{{assets}}page.js" defer></script>
</head>
<body>
<main>
<h1>{{title}}</h1>
<p>{{reason}}</p>
{{challenge}}
</main>
</body>
</html>
`.split(PLACE);
