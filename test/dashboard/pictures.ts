/** Pictures of the page for the docs: `SRV_SCREENSHOTS=1 ava dist/test/dashboard/incident.test.js` writes them into docs/dashboard. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../docs/source-files.js';
import type { Page } from '../harness/browser.js';

export const LOOKS = {
  light: { scheme: 'light', width: 1440, height: 900 },
  dark: { scheme: 'dark', width: 1440, height: 900 },
  phone: { scheme: 'dark', width: 390, height: 844 },
  wide: { scheme: 'light', width: 2560, height: 1440 },
} as const;
export type Look = keyof typeof LOOKS;

const isPictured = process.env['SRV_SCREENSHOTS'] === '1';
/** Plots fill before the first picture, and settle before each one. Milliseconds. */
const FIRST = 60_000;
const SETTLED = 1500;

/** Shows the page in a window of that size and scheme of colours. */
export async function look(page: Page, one: Look): Promise<void> {
  const { scheme, width, height } = LOOKS[one];
  await page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
  await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
}

/** Writes pictures of what the page shows, where they are asked for. */
export async function pictures(page: Page, name: string, looks: readonly Look[]): Promise<void> {
  if (!isPictured) return;
  if (name === 'overview') await settled(FIRST);
  for (const one of looks) {
    await look(page, one);
    await settled(SETTLED);
    const { data } = await page.send('Page.captureScreenshot', { format: 'png' });
    writeFileSync(join(ROOT, 'docs/dashboard', `${name}-${one}.png`), Buffer.from(data as string, 'base64'));
  }
}

function settled(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}
