//! Private batch solvers: data of one epoch in, one point out (AFKT22 Algorithm 2 for convex
//! losses).
//!
//! Epochs are octaves, 1, 2, 4, … records, and each is solved by itself when it is complete,
//! starting from the point that the one before released: the horizon need not be known, and a
//! record is in one epoch only. The solver is one pass of stochastic gradient descent in phases
//! (Feldman, Koren and Talwar 2020), with O(d) memory; `steps` has those that there are, and what a
//! further one must prove. (Among experts the solver is one exact draw, which `select` makes.)

mod plan;
mod solver;
mod steps;
mod walk;

pub use plan::{BatchError, SolverPlan, SolverRequest};
pub use solver::{Descent, Solver, SolverTask};
