import { testScenarios } from './scenario-tests.js'

// Three of the scenarios in which browsers behave differently. `node tools/browsers` runs every scenario in Firefox.
testScenarios('firefox', ['lost-responses', 'aborted-navigation', 'other-origins'])
