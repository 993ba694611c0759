// @ts-check
/** The figures of a stored experiment: what changes along a run, then one dot a seed under each law. */
import { drawCurves } from "./experiment/curves.js";
import { drawSeeds } from "./experiment/seeds.js";
import { json } from "./dom.js";

const page = json("experiment");
const place = (/** @type {string} */ id) => document.getElementById(id);

const curves = place("curves");
if (curves) drawCurves(curves, page.curves);
const figures = place("figures");
if (figures) drawSeeds(figures, page.figures, page.seeds);
