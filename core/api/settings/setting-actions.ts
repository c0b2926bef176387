import type { ActionContext } from '../../contract/control.js';
import type { Setting } from '../../contract/setting.js';
import type { Action } from '../action-server.js';
import type { SettingPage, SettingsInForce } from './settings-in-force.js';
import type { SettingBody } from './setting-targets.js';

export const listAction = ({ key }: Setting): string => `setting.${key}.list`;
export const changeAction = ({ key }: Setting): string => `setting.${key}.change`;

/** The data plane's half of the calls of settings. */
export function* settingActions(settings: Iterable<Setting>, inForce: SettingsInForce): Generator<readonly [name: string, action: Action]> {
  for (const setting of settings) {
    yield [listAction(setting), (page) => inForce.list(setting, page as SettingPage)];
    yield [changeAction(setting), (body, context: ActionContext) => inForce.change(setting, body as SettingBody, context)];
  }
}
