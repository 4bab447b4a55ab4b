// Writes the forms of the tests' reports into a folder, for a test that has a browser.
//
// usage: accept_sample FOLDER      page.html, junit.xml and report.json of Sample, mesh.html of 64 nodes with 8 rails
#include <fstream>
#include <iostream>
#include <string>

#include "cmd/railctl/accept/junit.h"
#include "cmd/railctl/accept/page.h"
#include "cmd/railctl/accept/report.h"
#include "cmd/railctl/accept/testing/sample.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: accept_sample FOLDER\n";
    return 2;
  }
  const std::string folder = std::string(argv[1]) + "/";
  const auto write = [&](const std::string& name, const std::string& text) {
    return static_cast<bool>(std::ofstream(folder + name) << text << std::flush);
  };
  const auto sample = rail::accept::Sample();
  const bool written = write("page.html", rail::accept::AsPage(sample)) &&
                       write("junit.xml", rail::accept::AsJunit(sample)) &&
                       write("report.json", rail::accept::AsJson(sample)) &&
                       write("mesh.html", rail::accept::AsPage(rail::accept::Mesh(64, 8)));
  if (!written) std::cerr << "accept_sample: cannot write into " << folder << '\n';
  return written ? 0 : 1;
}
