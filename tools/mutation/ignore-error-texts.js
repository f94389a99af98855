import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'

const REASON = 'the text of an error is for people; tests assert its class, its code and the names in it'

/** Leaves the texts of errors alone: `new TokenDecodeError('…')`. */
const errorTexts = {
  shouldIgnore(path) {
    if (!path.isStringLiteral() && !path.isTemplateLiteral()) return undefined
    const parent = path.findParent((one) => one.isNewExpression() || one.isFunction())
    return parent?.isNewExpression() && String(parent.node.callee.name).endsWith('Error') ? REASON : undefined
  },
}

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, 'error-texts', errorTexts)]
